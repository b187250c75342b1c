// Makes the checker's operations of what observers are told.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include <heddle/observe/observer.hpp>

#include "check/check_op.hpp"
#include "check/sites.hpp"

namespace heddle::detail {

class OpAdapter {
public:
    explicit OpAdapter(SiteTable& sites) : sites_(sites) {}

    /// Call it on the thread that was told.
    CheckOp convert(const OpInfo& info);

private:
    std::shared_ptr<const CheckShape> shape_of(const GraphShape& shape);

    SiteTable& sites_;
    std::unordered_map<std::uint64_t, std::shared_ptr<const CheckShape>> shapes_;  ///< by id
};

}  // namespace heddle::detail
