#include "collective/roll_server.hpp"

namespace heddle::detail {

void RollServer::open(std::uint64_t token, std::uint64_t process) {
    rolls_.try_emplace(token).first->second.process = process;
}

void RollServer::handle(RollClient& client, const RollMessage& message) {
    if (client.token == 0) {
        if (message.kind != RollKind::hello || !rolls_.contains(message.value))
            return client.stream.end();
        client.token = message.value;
        return client.stream.send({.kind = RollKind::welcome});
    }
    const auto found = rolls_.find(client.token);
    if (found == rolls_.end()) return client.stream.end();
    Roll& roll = found->second;
    if (!client.is_seated) {
        if (message.kind != RollKind::join) return client.stream.end();
        return join(roll, client, message);
    }
    const auto told = [&](RollMessage to_others) { tell_others(roll, client, to_others); };
    switch (message.kind) {
    case RollKind::ask_here:
        for (std::size_t i = 0; i < roll.seats.size(); ++i)
            if (roll.seats[i].client != nullptr)
                client.stream.send({.kind = RollKind::here, .rank = i});
        return client.stream.send({.kind = RollKind::end_of_here});
    case RollKind::ask_counts: return told({.kind = RollKind::ask_counts, .rank = client.rank});
    case RollKind::count:
        if (message.rank >= roll.seats.size()) return client.stream.end();
        if (RollClient* const asks = roll.seats[message.rank].client)
            asks->stream.send(
                {.kind = RollKind::count, .rank = client.rank, .value = message.value});
        return;
    case RollKind::bye:
        if (roll.is_complete)
            told({.kind = message.value == 0 ? RollKind::left : RollKind::gone,
                  .rank = client.rank,
                  .value = message.value});
        client.stream.send({.kind = RollKind::bye_heard});
        return unseat(roll, client);
    default: return client.stream.end();
    }
}

void RollServer::note_end(RollClient& client) {
    const auto found = rolls_.find(client.token);
    if (!client.is_seated || found == rolls_.end()) return;
    if (found->second.is_complete)
        tell_others(found->second, client, {.kind = RollKind::gone, .rank = client.rank});
    unseat(found->second, client);
}

void RollServer::join(Roll& roll, RollClient& client, const RollMessage& message) {
    const std::uint64_t rank = message.rank, size = message.value;
    if (rank >= size || size > most_roll_ranks) return client.stream.end();
    const auto refuse = [&](RollRefusal why) {
        const RollMessage refusal{.kind = RollKind::refused,
                                  .rank = rank,
                                  .value = static_cast<std::uint64_t>(why),
                                  .other = (size << 32U) + roll.seats.size()};
        client.stream.send(refusal);
        if (why == RollRefusal::complete) return;
        // The ranks that have joined would wait in vain.
        tell_others(roll, client, refusal);
        roll.refusal = refusal;
    };
    if (roll.refusal) return client.stream.send(*roll.refusal);
    if (roll.is_complete) return refuse(RollRefusal::complete);
    if (roll.here == 0) roll.seats.assign(size, {});
    if (size != roll.seats.size()) return refuse(RollRefusal::size);
    if (roll.seats[rank].client != nullptr) return refuse(RollRefusal::taken);
    roll.seats[rank] = {&client, message.other};
    client.is_seated = true;
    client.rank = rank;
    if (++roll.here == size) complete(roll);
}

void RollServer::complete(Roll& roll) {
    roll.is_complete = true;
    for (std::size_t i = 0; i < roll.seats.size(); ++i) {
        if (roll.seats[i].process != roll.process) continue;
        for (const Seat& seat : roll.seats)
            seat.client->stream.send({.kind = RollKind::with_maker, .rank = i});
    }
    for (const Seat& seat : roll.seats) seat.client->stream.send({.kind = RollKind::all_here});
}

void RollServer::tell_others(Roll& roll, const RollClient& client, const RollMessage& message) {
    for (const Seat& seat : roll.seats)
        if (seat.client != nullptr && seat.client != &client) seat.client->stream.send(message);
}

void RollServer::unseat(Roll& roll, RollClient& client) {
    client.is_seated = false;
    roll.seats[client.rank].client = nullptr;
    if (--roll.here == 0 && roll.is_complete) rolls_.erase(client.token);
}

}  // namespace heddle::detail
