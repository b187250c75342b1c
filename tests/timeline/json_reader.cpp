#include "timeline/json_reader.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace heddle_test {

namespace {

class Reader {
public:
    explicit Reader(std::string_view text) : text_(text) {}

    Json all() {
        const Json json = value(0);
        skip_space();
        if (at_ != text_.size()) fail("more text");
        return json;
    }

private:
    [[noreturn]] void fail(const std::string& why) const {
        throw BadJson(why + " at byte " + std::to_string(at_) + ": \"" +
                      std::string(text_.substr(at_, 30)) + '"');
    }
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    char next() {
        if (at_ == text_.size()) fail("the end");
        return text_[at_++];
    }
    bool take(std::string_view what) {
        if (!text_.substr(at_).starts_with(what)) return false;
        at_ += what.size();
        return true;
    }
    void expect(std::string_view what) {
        if (!take(what)) fail("no " + std::string(what));
    }
    void skip_space() {
        while (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t') ++at_;
    }

    Json value(int depth) {
        if (depth > 100) fail("too deep");
        skip_space();
        if (peek() == '{') return object(depth);
        if (peek() == '[') return array(depth);
        if (peek() == '"') return {Json::Type::string, string()};
        for (const char* const word : {"true", "false"})
            if (take(word)) return {Json::Type::boolean, word};
        if (take("null")) return {};
        return number();
    }

    Json object(int depth) {
        Json json{Json::Type::object};
        expect("{");
        skip_space();
        if (take("}")) return json;
        do {
            skip_space();
            std::string name = string();
            if (json.has(name)) fail("a second \"" + name + '"');
            skip_space();
            expect(":");
            json.names.push_back(std::move(name));
            json.items.push_back(value(depth + 1));
            skip_space();
        } while (take(","));
        expect("}");
        return json;
    }

    Json array(int depth) {
        Json json{Json::Type::array};
        expect("[");
        skip_space();
        if (take("]")) return json;
        do {
            json.items.push_back(value(depth + 1));
            skip_space();
        } while (take(","));
        expect("]");
        return json;
    }

    bool digits() {
        const std::size_t begin = at_;
        while (peek() >= '0' && peek() <= '9') ++at_;
        return at_ != begin;
    }
    Json number() {
        const std::size_t begin = at_;
        take("-");
        if (!take("0") && !digits()) fail("no value");
        if (take(".") && !digits()) fail("no decimals");
        if (take("e") || take("E")) {
            if (!take("+")) take("-");
            if (!digits()) fail("no exponent");
        }
        return {Json::Type::number, std::string(text_.substr(begin, at_ - begin))};
    }

    std::string string() {
        std::string text;
        expect("\"");
        while (!take("\"")) {
            const auto byte = static_cast<unsigned char>(peek());
            if (take("\\")) append(text, escaped());
            else if (byte < 0x20) fail("a control character");
            else append(text, character());
        }
        return text;
    }
    unsigned four_digits() {
        unsigned value = 0;
        const std::string_view digits = text_.substr(at_, 4);
        const char* const end = digits.data() + digits.size();
        const auto [rest, error] = std::from_chars(digits.data(), end, value, 16);
        if (digits.size() != 4 || error != std::errc{} || rest != end) fail("no four digits");
        at_ += 4;
        return value;
    }
    char32_t escaped() {
        constexpr std::string_view names = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        const char name = next();
        if (const auto i = names.find(name); i != names.npos)
            return static_cast<unsigned char>(meanings[i]);
        if (name != 'u') fail("no escape");
        const char32_t first = four_digits();
        if (first < 0xd800 || first > 0xdfff) return first;
        if (first > 0xdbff || !take("\\u")) fail("half a surrogate pair");
        const char32_t second = four_digits();
        if (second < 0xdc00 || second > 0xdfff) fail("half a surrogate pair");
        return 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    }
    char32_t character() {
        const auto lead = static_cast<unsigned char>(next());
        if (lead < 0x80) return lead;
        const int more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
        char32_t value = lead & (0x3f >> more);
        for (int i = 0; i < more; ++i) {
            const auto byte = static_cast<unsigned char>(next());
            if ((byte & 0xc0) != 0x80) fail("no UTF-8");
            value = value << 6 | (byte & 0x3f);
        }
        constexpr char32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (lead < 0xc0 || lead > 0xf7 || value < least[more] || value > 0x10ffff ||
            (value >= 0xd800 && value <= 0xdfff))
            fail("no UTF-8");
        return value;
    }
    static void append(std::string& to, char32_t value) {
        const auto add = [&to](char32_t byte) { to += static_cast<char>(byte); };
        if (value < 0x80) return add(value);
        if (value < 0x800) {
            add(0xc0 | value >> 6);
        } else {
            if (value < 0x10000) {
                add(0xe0 | value >> 12);
            } else {
                add(0xf0 | value >> 18);
                add(0x80 | (value >> 12 & 0x3f));
            }
            add(0x80 | (value >> 6 & 0x3f));
        }
        add(0x80 | (value & 0x3f));
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace

bool Json::has(std::string_view name) const {
    return std::find(names.begin(), names.end(), name) != names.end();
}

const Json& Json::operator[](std::string_view name) const {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw BadJson("no member " + std::string(name));
    return items[static_cast<std::size_t>(found - names.begin())];
}

std::int64_t Json::whole() const {
    std::int64_t value = 0;
    const char* const end = text.data() + text.size();
    const auto [rest, error] = std::from_chars(text.data(), end, value);
    if (type != Type::number || error != std::errc{} || rest != end)
        throw BadJson("no whole number: " + text);
    return value;
}

Json read_json(std::string_view text) { return Reader(text).all(); }

}  // namespace heddle_test
