// The text of race reports.
#include "check/report.hpp"
#include "check/words.hpp"
#include "core/base/kernel_name.hpp"

#include <map>

#include "support.hpp"

using namespace heddle_test;
using heddle::detail::Finding;
using heddle::detail::FindingKind;
using heddle::detail::KnownOrder;
using heddle::detail::race_of;
using heddle::detail::Site;
using heddle::detail::SiteId;

namespace {

enum : SiteId { pack = 1, relax, record, wait, made, host, notify, send, freed };

class SomeNames final : public heddle::detail::ReportNames {
public:
    const Site& site(SiteId id) const override { return sites_.at(id); }
    std::string stream(std::uint64_t id) const override {
        return short_stream(id) + (id == 11 ? " of cuda:1" : " of cuda:0");
    }
    std::string short_stream(std::uint64_t id) const override {
        return id == 7 ? "halo" : id == 9 ? "stream 9" : id == 10 ? "cuda:0 default" : "main";
    }
    std::string made_at(std::uint64_t id) const override {
        return is_made_known && id == 9 ? "solver.cpp:30" : "";
    }
    bool is_made_known = true;

private:
    std::map<SiteId, Site> sites_{{pack, {OpKind::launch, "PackHalo", "src/solver.cpp", 71}},
                                  {relax, {OpKind::launch, "Relax", "src/solver.cpp", 88}},
                                  {record, {OpKind::record, "record_event", "solver.cpp", 64}},
                                  {wait, {OpKind::wait, "wait_event", "solver.cpp", 66}},
                                  {made, {OpKind::allocate, "empty", "/a/b/solver.cpp", 40}},
                                  {host, {OpKind::host_access, "on_host", "main.cpp", 55}},
                                  {notify, {OpKind::host_function, "Notify", "io.cpp", 40}},
                                  {send, {OpKind::copy, "device to device", "link.cpp", 61}},
                                  {freed, {OpKind::free, "free", "", 0}}};
};

Finding a_finding(FindingKind kind) {
    return {.kind = kind,
            .first = {.stream = 7,
                      .position = 412,
                      .site = pack,
                      .mode = AccessMode::read,
                      .argument = 1},
            .second = {.stream = 8,
                       .position = 977,
                       .site = relax,
                       .mode = AccessMode::read_write,
                       .argument = 0},
            .begin = 0x1000,
            .end = 0x1000 + 4096 * 4,
            .allocation = 5,
            .allocation_begin = 0x1000,
            .element = 4,
            .made = made};
}

std::string text_of(const Finding& finding) { return race_of(finding, SomeNames()).text; }

}  // namespace

TEST_CASE("report_names_both_places_argument_elements") {
    const std::string text = text_of(a_finding(FindingKind::write_after_read));
    CHECK_THAT(text, contains("heddle check: RACE (write after read): 'Relax' may overwrite memory "
                              "that 'PackHalo' still reads\n"));
    CHECK_THAT(text, contains("PackHalo, kernel on stream halo of cuda:0, enqueued at "
                              "solver.cpp:71\n      reads it through its 2nd argument\n"));
    CHECK_THAT(text, contains("Relax, kernel on stream main of cuda:0, enqueued at solver.cpp:88\n"
                              "      reads and writes it through its 1st argument\n"));
    CHECK_THAT(text, contains("elements [0, 4096) of the array made at solver.cpp:40\n"));
    CHECK_THAT(text, contains("Nothing orders the two accesses.\n"));
    CHECK_THAT(text, contains("after solver.cpp:71 and before solver.cpp:88, for example\n      "
                              "main.wait_stream(halo);  // names of streams\n"));
    CHECK_THAT(text, contains("[kind=write_after_read certain=1 first=halo of cuda:0#412 "
                              "second=main of cuda:0#977 bytes=0x1000+16384]\n"));
}

TEST_CASE("report_says_recorded_too_early") {
    Finding finding = a_finding(FindingKind::read_after_write);
    finding.order = {.kind = KnownOrder::Kind::wait, .record = record, .wait = wait};
    CHECK_THAT(text_of(finding),
               contains("The wait at solver.cpp:66 is too early: its event was recorded at "
                        "solver.cpp:64, before the work at solver.cpp:71"));
}

TEST_CASE("report_says_never_recorded") {
    Finding finding = a_finding(FindingKind::read_after_write);
    finding.order = {.kind = KnownOrder::Kind::never_recorded, .wait = wait};
    CHECK_THAT(text_of(finding),
               contains("The wait at solver.cpp:66 had no effect, because its event"));
}

TEST_CASE("an event that nobody waits for is named") {
    Finding finding = a_finding(FindingKind::read_after_write);
    finding.record_behind = record;
    CHECK_THAT(text_of(finding),
               contains("main.wait_stream(halo);  // names of streams\n      or a wait_event() of "
                        "main for the event that solver.cpp:64 records\n"));
}

TEST_CASE("streams without names are told by where they were made, and the advice is a sentence") {
    Finding finding = a_finding(FindingKind::read_after_write);
    finding.first.stream = 9;
    std::string text = text_of(finding);
    CHECK_THAT(text, contains("PackHalo, kernel on stream 9 of cuda:0 (made at solver.cpp:30), "
                              "enqueued at solver.cpp:71\n"));
    CHECK_THAT(text,
               contains("Missing: after solver.cpp:71 and before solver.cpp:88, a wait\n      "
                        "of stream main for stream 9 (made at solver.cpp:30), by "
                        "wait_stream()\n"));
    CHECK_THAT(text, contains("first=stream 9 of cuda:0#412 "));
    finding.second.stream = 10;
    CHECK_THAT(text_of(finding),
               contains("a wait\n      of default_stream(Device(\"cuda:0\")) for stream 9 (made"));
    finding.second = {.site = host, .mode = AccessMode::read};
    finding.kind = FindingKind::host_read_after_write;
    CHECK_THAT(text_of(finding), contains("Missing: before main.cpp:55, a wait\n      of the host "
                                          "for stream 9 (made at solver.cpp:30), by "
                                          "synchronize()\n"));
}

TEST_CASE("streams that no name and no place tell apart are told by what is enqueued on them") {
    Finding finding = a_finding(FindingKind::read_after_write);
    finding.first.stream = 9;
    finding.second.stream = 10;
    SomeNames names;
    names.is_made_known = false;
    CHECK_THAT(race_of(finding, names).text,
               contains("a wait\n      of default_stream(Device(\"cuda:0\")) for the stream of "
                        "solver.cpp:71, by wait_stream()\n"));
    finding.second.stream = 11;  // also called "main", on another device
    finding.first.stream = 8;
    CHECK_THAT(text_of(finding), contains("a wait\n      of stream main of cuda:1 for stream main "
                                          "of cuda:0, by wait_stream()\n"));
    finding.second.stream = 12;  // also called "main", on the same device
    CHECK_THAT(text_of(finding), contains("a wait\n      of the stream of solver.cpp:88 for the "
                                          "stream of solver.cpp:71, by wait_stream()\n"));
}

TEST_CASE("a place above the first one is told as reached again only if it was reached before") {
    Finding finding = a_finding(FindingKind::read_after_write);
    std::swap(finding.first.site, finding.second.site);
    CHECK_THAT(text_of(finding), contains("after solver.cpp:88 and before solver.cpp:71, for"));
    finding.is_again = true;
    CHECK_THAT(text_of(finding),
               contains("after solver.cpp:88 and before solver.cpp:71 is reached again, for"));
    std::swap(finding.first.site, finding.second.site);
    CHECK_THAT(text_of(finding), contains("after solver.cpp:71 and before solver.cpp:88, for"));
}

TEST_CASE("a wait that was asked for before is not asked for again") {
    Finding finding = a_finding(FindingKind::read_after_write);
    finding.same_wait = wait;
    const std::string text = text_of(finding);
    CHECK_THAT(text,
               contains("Missing: the wait before solver.cpp:66 (reported already), which would "
                        "also order these accesses\n"));
    CHECK_THAT(text, !contains("wait_stream"));
}

TEST_CASE("a report of the host's access asks for a host wait") {
    Finding finding = a_finding(FindingKind::host_read_after_write);
    finding.first.mode = AccessMode::write;
    finding.second = {.site = host, .mode = AccessMode::read};
    const std::string text = text_of(finding);
    CHECK_THAT(text, contains("the host may read memory before 'PackHalo' has written it"));
    CHECK_THAT(text, contains("  the host, at main.cpp:55\n      reads it\n"));
    CHECK_THAT(text, contains("before main.cpp:55, for example\n      halo.synchronize();"));
    CHECK_THAT(text, contains("second=host#0"));
}

TEST_CASE("a possible race names what may make the order") {
    Finding finding = a_finding(FindingKind::write_after_read);
    finding.is_certain = false;
    finding.doubt = heddle::detail::Doubt::leak;
    finding.leak = notify;
    const std::string text = text_of(finding);
    CHECK_THAT(text, contains("POSSIBLE RACE"));
    CHECK_THAT(text,
               contains("Not certain, because Notify at io.cpp:40 may order the two accesses"));
}

TEST_CASE("a report of freed memory says to keep it, or to declare its use") {
    Finding finding = a_finding(FindingKind::free_before_use);
    finding.first.site = send;
    finding.second.site = freed;
    finding.freed = freed;
    const std::string text = text_of(finding);
    CHECK_THAT(text, contains("memory is freed while the copy device to device may still read it"));
    CHECK_THAT(text, contains("array.used_on(halo) at link.cpp:61"));
    CHECK_THAT(text, contains("freed at an unknown place"));
}

TEST_CASE("a race in a graph asks for an edge") {
    Finding finding = a_finding(FindingKind::write_after_write);
    finding.in_graph = true;
    // If exactly one of the operations is a read, it should be the second one.
    for (const bool is_turned : {false, true}) {
        if (is_turned) std::swap(finding.first, finding.second);
        CHECK_THAT(text_of(finding), contains("RACE in a graph"));
        CHECK_THAT(text_of(finding), contains("' have no order"));
        CHECK_THAT(text_of(finding), contains("added at solver.cpp:71"));
        CHECK_THAT(
            text_of(finding),
            contains("after() on the kernel node 'PackHalo' of solver.cpp:71 with the kernel "
                     "node 'Relax' of solver.cpp:88"));
    }
}

TEST_CASE("memory that heddle does not own is named by its address") {
    Finding finding = a_finding(FindingKind::write_after_write);
    finding.allocation = 0;
    finding.made = 0;
    CHECK_THAT(text_of(finding),
               contains("16384 bytes at 0x1000 of memory that heddle does not own\n"));
}

TEST_CASE("each kind of finding has a race with words") {
    for (const FindingKind kind :
         {FindingKind::write_after_write, FindingKind::write_after_read,
          FindingKind::read_after_write, FindingKind::host_write_after_write,
          FindingKind::host_write_after_read, FindingKind::host_read_after_write,
          FindingKind::use_before_allocation, FindingKind::free_before_use,
          FindingKind::use_after_free, FindingKind::reuse}) {
        const check::Race race = race_of(a_finding(kind), SomeNames());
        INFO(race.text);
        CHECK_THAT(race.text, contains("Missing: "));
        CHECK(race.text.find("''") == std::string::npos);
        CHECK(race.first.where.line == 71);
    }
}

TEST_CASE("a possible race says in one line why it is not certain") {
    using heddle::detail::Doubt;
    Finding finding = a_finding(FindingKind::write_after_read);
    finding.is_certain = false;
    for (const Doubt doubt :
         {Doubt::leak, Doubt::foreign, Doubt::unknown_graph, Doubt::new_memory, Doubt::many_rows}) {
        finding.doubt = doubt;
        const std::string text = text_of(finding);
        INFO(text);
        CHECK_THAT(text, contains("\n  Not certain, because "));
    }
}

TEST_CASE("kernels' names are readable, as compilers write them") {
    using heddle::detail::readable_name;
    CHECK(readable_name("Scale<float>") == "Scale<float>");
    CHECK(readable_name("{anonymous}::Scale<float, 3>") == "Scale<float, 3>");
    CHECK(readable_name("(anonymous namespace)::Scale") == "Scale");
    CHECK(readable_name("main()::<lambda(std::size_t, heddle::View<float>)>") ==
          "lambda in main()");
    CHECK(readable_name("{anonymous}::step(int)::<lambda(auto:1)>::<lambda(std::size_t)>") ==
          "lambda in step(int)");
    CHECK(readable_name("f(T) [with T = int]::<lambda(int)>") == "lambda in f(T)");
    CHECK(readable_name("__nv_hdl_wrapper_t<false, true, false, __nv_dl_tag<void (*)(int, char), "
                        "my::f<int, 3>, 1>, void(long unsigned int, heddle::View<int>)>") ==
          "lambda in my::f<int, 3>");
    CHECK(readable_name("(lambda at ../src/heat/solver.cpp:12:5)") == "lambda at solver.cpp:12:5");
}

TEST_CASE("rows are told as parts of the array's rows") {
    Finding finding = a_finding(FindingKind::write_after_write);
    finding.begin = 0x1000 + (2 * 64 + 8) * 4;
    finding.end = finding.begin + 3 * 64 * 4 + 16;
    finding.rows = {.bytes = 16, .rows = 4, .pitch = 64 * 4};
    CHECK_THAT(text_of(finding), contains("in common: elements [8, 12) of each of the rows [2, 6), "
                                          "64 elements apart, of the array made at"));
    finding.element = 0;
    CHECK_THAT(text_of(finding), contains("in common: bytes [32, 48) of each of the rows [2, 6), "
                                          "256 bytes apart, of the array made at"));
    finding.rows.bytes = 250;  // more than a row of the array has
    CHECK_THAT(text_of(finding), contains("in common: 4 rows of 250 bytes, 256 apart, from 0x"));
}

TEST_CASE("summary_counts_possible") {
    check::Summary summary{.certain = 3, .possible = 1, .operations = 18204};
    CHECK(heddle::detail::summary_text(summary, false) ==
          "heddle check: 3 races, 1 possible (HEDDLE_CHECK=strict shows them); 18204 operations "
          "checked\n");
    summary.faults = 2;
    CHECK_THAT(heddle::detail::summary_text(summary, true),
               contains("3 races, 1 possible, 2 faults of heddle; "));
}
