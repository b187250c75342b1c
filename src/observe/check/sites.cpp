#include "check/sites.hpp"

namespace heddle::detail {

SiteId SiteTable::find_or_add(OpKind kind, const char* name, const SourceLocation& where) {
    const auto next = static_cast<SiteId>(sites_.size());
    const auto [found, is_new] =
        by_text_.try_emplace(Text{kind, name, where.file, where.line, where.column}, next);
    if (is_new) sites_.push_back({kind, name, where.file, where.line, where.column});
    return recent_[place_of(kind, name, where)] = found->second;
}

}  // namespace heddle::detail
