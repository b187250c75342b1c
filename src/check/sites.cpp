#include "check/sites.hpp"

namespace heddle::detail {

SiteId SiteTable::intern(OpKind kind, const char* name, const SourceLocation& where) {
    const Address address{kind, name, where.file, where.line};
    const auto known = by_address_.find(address);
    if (known != by_address_.end()) {
        const Site& site = sites_[known->second];
        if (site.name == name && site.file == where.file) return known->second;
    }
    const auto next = static_cast<SiteId>(sites_.size());
    const auto [found, is_new] =
        by_text_.try_emplace(Text{kind, name, where.file, where.line}, next);
    if (is_new) sites_.push_back({kind, name, where.file, where.line});
    by_address_[address] = found->second;
    return found->second;
}

}  // namespace heddle::detail
