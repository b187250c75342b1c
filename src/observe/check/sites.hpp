// Names, kinds and places of operations, each stored once.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "check/check_op.hpp"

namespace heddle::detail {

struct Site {
    OpKind kind = OpKind::launch;
    std::string name, file;
    unsigned line = 0, column = 0;
};

/// Assigns a small number to each site.
class SiteTable {
public:
    SiteId intern(OpKind kind, const char* name, const SourceLocation& where) {
        const SiteId recent = recent_[place_of(kind, name, where)];
        if (recent != 0 && is_at(sites_[recent], kind, name, where)) [[likely]]
            return recent;
        return find_or_add(kind, name, where);
    }
    const Site& operator[](SiteId id) const { return sites_[id]; }
    std::size_t size() const noexcept { return sites_.size(); }

private:
    static constexpr std::size_t places = 512;

    // Returns the cache index of a site. Places and names are string literals with stable
    // addresses, so the index depends on the addresses. The cache compares the texts, too: after a
    // library is unloaded, its addresses may hold other texts.
    static std::size_t place_of(OpKind kind, const char* name,
                                const SourceLocation& where) noexcept {
        const auto mix = reinterpret_cast<std::uintptr_t>(name) * 0x9e3779b97f4a7c15u +
                         reinterpret_cast<std::uintptr_t>(where.file) +
                         where.line * std::uintptr_t{0x85ebca6b} +
                         where.column * std::uintptr_t{0xc2b2ae35} + static_cast<std::size_t>(kind);
        return (mix ^ mix >> 32) % places;
    }
    static bool is_at(const Site& site, OpKind kind, const char* name,
                      const SourceLocation& where) {
        return site.kind == kind && site.line == where.line && site.column == where.column &&
               site.name == name && site.file == where.file;
    }
    SiteId find_or_add(OpKind kind, const char* name, const SourceLocation& where);

    using Text = std::tuple<OpKind, std::string, std::string, unsigned, unsigned>;
    std::array<SiteId, places> recent_{};  ///< the newest site at each cache index
    std::map<Text, SiteId> by_text_;
    std::vector<Site> sites_{Site{}};
};

}  // namespace heddle::detail
