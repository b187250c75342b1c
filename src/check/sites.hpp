// Operations' names, kinds and places, each kept once.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "check/check_op.hpp"

namespace heddle::detail {

struct Site {
    OpKind kind = OpKind::launch;
    std::string name, file;
    unsigned line = 0;
};

/// Gives each site a small number.
class SiteTable {
public:
    SiteId intern(OpKind kind, const char* name, const SourceLocation& where);
    const Site& operator[](SiteId id) const { return sites_[id]; }
    std::size_t size() const noexcept { return sites_.size(); }

private:
    // Places and names are texts of the compiler, which rarely move: they are found by address
    // first, and compared, as an unloaded library may leave an address to another text.
    using Address = std::tuple<OpKind, const char*, const char*, unsigned>;
    using Text = std::tuple<OpKind, std::string, std::string, unsigned>;
    std::map<Address, SiteId> by_address_;
    std::map<Text, SiteId> by_text_;
    std::vector<Site> sites_{Site{}};
};

}  // namespace heddle::detail
