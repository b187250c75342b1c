// Names of mistakes in compiler messages. The names read as sentences, because C++20 has no other
// way to put types into a message. A wrong argument of a kernel is shown as an undefined class. A
// deleted function has a parameter whose type names the reason.
#pragma once

#include <heddle/detail/visible.hpp>

// Marks the object that a result refers to, so that clang warns if the result outlives it. (nvcc
// does not support it.)
#if defined(__clang__) && !defined(__CUDACC__)
#define HEDDLE_LIFETIMEBOUND [[clang::lifetimebound]]
#else
#define HEDDLE_LIFETIMEBOUND
#endif

// A cudaStream_t and a cudaEvent_t are pointers to these.
struct CUstream_st;
struct CUevent_st;

/// Names of mistakes, used only in compiler messages.
namespace heddle HEDDLE_VISIBLE {
namespace mistake {

/// An argument of a launch. Counted from 1, after the indices.
template <int number> struct argument {
    /// The template parameter is the type of the argument.
    template <class Passed> struct is {
        template <class Parameter> struct but_the_kernel_takes;
        template <class Parameter> struct read_only_but_the_kernel_takes;
        template <class Parameter> struct passed_as_a_View_but_the_kernel_takes;
        template <class Parameter> struct without_extents_so_pass_spanning;
        template <class Parameter> struct passed_as_a_copy_but_the_kernel_takes_a_reference;
        template <class Parameter> struct truncated_to_an_integer_by_a_kernel_that_takes;
        template <class Parameter> struct truncated_to_an_integer_as_it_was_prepared_with;
        template <class Parameter> struct but_it_was_prepared_with;
        struct host_memory_so_pass_a_View_of_it;
        struct not_trivially_copyable_as_an_argument_must_be;
    };
};
/// A parameter of a kernel, counted from 1 after the indices.
template <int number> struct parameter {
    template <class Parameter> struct must_be_a_View_and_not_an_Array;
};
/// An index of a launch, counted from 1.
template <int number> struct index {
    /// The template parameter is the type of the index.
    template <class Passed> struct is {
        template <class Parameter> struct but_the_kernel_takes;
    };
};
/// A kernel with this many parameters, or a `__global__` function.
template <int parameters> struct the_kernel_takes {
    /// The indices are those of dim().
    template <int indices> struct parameters_but_the_launch_has_indices {
        template <int arguments> struct and_arguments;
    };
    template <int arguments> struct arguments_but_the_launch_has;
};
/// A kernel whose operator() is a template, overloaded, not public, or missing.
template <class Kernel> struct kernel {
    template <class... Arguments> struct has_no_public_const_operator_that_takes;
};

// Reasons why functions are deleted. A deleted function names the reason by the type of its last
// parameter or, if that is a pack, by the default of the template parameter `Why`. The names are
// short, so that they stay on the line that clang shows.
struct a_Device_or_StreamOptions_with_a_name {};
struct name_and_priority_are_in_StreamOptions {};
struct use_wrap_stream {};
struct use_wrap_event {};
struct use_current_stream_of_the_device {};
struct use_wait_event {};
struct use_synchronize_stream {};
struct use_synchronize_device {};
struct use_wait_stream_or_record_event {};
struct a_Device_has_a_kind_and_a_number {};
struct write_Device_of_the_name {};
struct the_stream_is_the_first_argument {};
struct a_Device_is_not_accepted_here {};
struct this_number_is_one_argument_too_many {};
struct streams_are_moved_and_not_copied {};
struct events_are_moved_and_not_copied {};
struct arrays_are_not_copied_use_copy_or_a_View {};
struct to_host_returns_a_vector_and_copy_writes_to_one {};
struct a_node_is_not_a_Graph_use_build {};
struct after_takes_nodes_and_launch_takes_the_stream {};
struct after_takes_nodes_use_wait_node_of_the_event {};
struct after_takes_nodes_use_child_node_of_the_graph {};
struct the_memory_ends_first {};
struct the_destination_is_const {};
struct above_3_dimensions_it_is_dim_of_m_size {};
struct M_is_not_an_mdspan_with_a_pointer {};
struct pass_all_extents_of_M_or_its_mapping {};
struct the_memory_is_not_a_View_of_the_elements_of_M {};
/// Also accepts the remaining arguments.
struct stream_ends_first {
    /// Converts from any arguments.
    template <class... More> constexpr stream_ends_first(const More&...) noexcept {}
};
struct write_View_of_pointer_and_size {};
struct a_host_function_takes_no_arguments_so_capture_them {};
struct this_is_the_result_of_a_call_so_write_a_lambda {};
struct a_completion_takes_a_std_exception_ptr {};
struct pass_the_stream_itself_and_not_its_address {};
struct a_size_is_a_whole_number {};
struct a_name_finds_no_stream_so_pass_the_Stream {};
struct declare_in_braces_as_task_reads_x_writes_y_f {};
struct the_function_returns_nothing_or_a_cudaError_t {};
struct a_Stream_owns_so_use_a_StreamRef_or_set_stream {};
struct work_takes_stream_View_const_In_View_Out {};
struct the_number_of_indices_is_dim_of_n {};
struct the_number_of_indices_is_dim_of_x_size {};

}  // namespace mistake
}  // namespace heddle
