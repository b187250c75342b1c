// Converts observed operations to operations of the ordering checker.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>

#include "check/sites.hpp"

namespace heddle::detail {

/// Converts operations. Keeps sites and shapes of graphs between calls. Not thread-safe. Call
/// read() on the thread that enqueued the operation.
class OpReader {
public:
    /// Returns the converted operation. It is valid until the next call.
    const CheckOp& read(const OpInfo& op);
    /// Returns the id of a site that belongs to no operation.
    SiteId intern(OpKind kind, const char* name, const SourceLocation& where) {
        return sites_.intern(kind, name, where);
    }
    const SiteTable& sites() const noexcept { return sites_; }
    /// Returns a shape that was read. Returns null if it was forgotten.
    const CheckShape* find_shape(std::uint64_t id) const {
        const auto known = shapes_.find(id);
        return known != shapes_.end() ? known->second.get() : nullptr;
    }

private:
    std::shared_ptr<const CheckShape> shape_of(const GraphShape& shape);

    static constexpr std::size_t most_shapes = 64;
    SiteTable sites_;
    std::unordered_map<std::uint64_t, std::shared_ptr<const CheckShape>> shapes_;
    std::deque<std::uint64_t> shapes_in_order_;  ///< oldest first
    CheckOp op_;
};

}  // namespace heddle::detail
