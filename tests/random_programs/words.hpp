// Names of enumerators, for the texts of random programs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

namespace heddle_test::programs {

/// Returns the number of words in a text with one space between words.
constexpr std::size_t count_words(std::string_view words) {
    return static_cast<std::size_t>(std::ranges::count(words, ' ')) + 1;
}

/// Returns the word for an enumerator: the first enumerator has the first word.
template <class Enum> std::string word_of(std::string_view words, Enum value) {
    for (auto i = static_cast<std::size_t>(value); i > 0; --i)
        words.remove_prefix(words.find(' ') + 1);
    return std::string(words.substr(0, words.find(' ')));
}

}  // namespace heddle_test::programs
