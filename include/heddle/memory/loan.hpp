// Loans of memory: arrays of memory that its owner takes back.
#pragma once

#include <ranges>
#include <span>
#include <type_traits>
#include <vector>

#include <heddle/memory/adopt.hpp>

namespace heddle HEDDLE_VISIBLE {

namespace detail {
/// An lvalue, or a std::span, of elements that an Array can have.
template <class M>
concept Lendable = std::ranges::contiguous_range<M> && std::ranges::sized_range<M> &&
                   std::ranges::borrowed_range<M> &&
                   ArrayElement<std::remove_reference_t<std::ranges::range_reference_t<M>>>;
}  // namespace detail

/// Lends memory of its caller to heddle, until the loan ends.
///
///     std::vector<float> values(n), results(n);
///     {
///         Loan loan;
///         Array<float> x = loan.lend(Device("cpu"), values);
///         Array<float> r = loan.register_host(results);                  // pinned in place
///         launch(s, Add{}, dim(n), x);
///         copy(s, r, y);
///     }                                       // blocks until both are done
///     use(values, results);
///
/// Lifetime: ending the loan blocks until all work on the memory that heddle knows of has
/// completed. Then the memory's owner may change or free it. Destroying an array does not end its
/// loan. Declare the loan after the owner of the memory, and before the variables that hold its
/// arrays, so that they are destroyed in the right order.
///
/// Lending the same range again, from the same loan, makes another array of the same memory. Other
/// ranges must not overlap memory of an array.
///
/// Errors: an array that outlives its loan is dead: a use of it, or of a view of it, throws
/// UsageError. Failures of work are not thrown by the loan. Thread-safety: one thread at a time.
class Loan {
public:
    [[nodiscard]] Loan() noexcept = default;
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    /// Ends the loan. Passes errors to the report hook. If memory for waiting is exhausted, reports
    /// that once and tries again until it succeeds. In a host function, which may not wait, the
    /// arrays become dead, and pinned memory stays pinned.
    ~Loan();

    /// Makes an Array<T> of memory of `device`. Pass the memory as a std::span<T>, or as an lvalue
    /// such as a std::vector or an array. Any stream, and the host, may use it at once. Throws
    /// UsageError for null, for memory of another array, and for memory that is not the device's.
    template <detail::Lendable Memory>
    [[nodiscard]] auto lend(Device device, Memory&& memory, Where where = {}) {
        const std::span elements(memory);
        return detail::Access::array<typename decltype(elements)::element_type>(
            lend_block(detail::foreign(device, elements.data(), elements.size()), where),
            elements.size());
    }

    /// Makes an array of the caller's host memory, and pins its pages until the loan ends. GPUs
    /// then read and write it directly, and copies of it are asynchronous, at the speed of pinned()
    /// memory. Pinning costs about as much as copying the memory: use it for memory that is copied
    /// several times. Without a GPU, the call only makes the array.
    ///
    /// Pages are pinned once. An array within pages that are registered already shares them. Throws
    /// UsageError if an array is only partly in such pages, and for memory that CUDA cannot pin
    /// (a read-only mapping, memory that another library has pinned). The message names a remedy.
    /// Throws OutOfMemory if the system cannot lock so many pages.
    ///
    /// Unpinning, when the loan ends, may wait for all work of the GPUs.
    template <detail::Lendable Memory>
    [[nodiscard]] auto register_host(Memory&& memory, Where where = {}) {
        const std::span elements(memory);
        return detail::Access::array<typename decltype(elements)::element_type>(
            register_block(detail::foreign(MemoryKind::pinned, elements.data(), elements.size()),
                           where),
            elements.size());
    }

    /// Ends the loan: see the class. The object may lend again afterwards. Does not throw the
    /// failures of work. Throws UsageError in a host function, without an effect. Throws
    /// OutOfMemory if memory for waiting is exhausted. The memory may then be in use: call end()
    /// again. If another error prevents the wait, end() does everything else first, and then throws
    /// that error.
    void end(Where where = {});

private:
    struct Lent {
        detail::Block* block;
        bool is_registered;
    };
    detail::Block& lend_block(detail::ForeignMemory memory, Where where);
    detail::Block& register_block(detail::ForeignMemory memory, Where where);
    detail::Block* find(const detail::ForeignMemory& memory) const noexcept;

    std::vector<Lent> lent_;
};

}  // namespace heddle
