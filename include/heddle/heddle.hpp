// Includes the public headers. Exceptions: <heddle/cuda.hpp> and heddle/with/, most of which need
// headers of CUDA; <heddle/by_data.hpp>, <heddle/check.hpp>, <heddle/timeline_files.hpp>; and the
// headers for formatting.
#pragma once

#include <heddle/code/module.hpp>
#include <heddle/code/preload.hpp>
#include <heddle/code/program.hpp>
#include <heddle/collective/communicator.hpp>
#include <heddle/collective/device_group.hpp>
#include <heddle/collective/reduce_op.hpp>
#include <heddle/concurrency/fork_join.hpp>
#include <heddle/concurrency/overlap.hpp>
#include <heddle/concurrency/pipeline.hpp>
#include <heddle/concurrency/stream_pool.hpp>
#include <heddle/device/device.hpp>
#include <heddle/device/diagnosis.hpp>
#include <heddle/device/peer_access.hpp>
#include <heddle/device/synchronize_device.hpp>
#include <heddle/error.hpp>
#include <heddle/graph/conditional_nodes.hpp>
#include <heddle/graph/graph.hpp>
#include <heddle/graph/host_node.hpp>
#include <heddle/graph/kernel_nodes.hpp>
#include <heddle/graph/memory_nodes.hpp>
#include <heddle/graph/module_nodes.hpp>
#include <heddle/graph/nodes.hpp>
#include <heddle/graph/prepared_launch.hpp>
#include <heddle/kernel.hpp>
#include <heddle/launch/dependent_launch.hpp>
#include <heddle/launch/launch.hpp>
#include <heddle/launch/launch_host.hpp>
#include <heddle/launch/launch_options.hpp>
#include <heddle/launch/launch_shape.hpp>
#include <heddle/launch/on_completion.hpp>
#include <heddle/launch/touching.hpp>
#include <heddle/location.hpp>
#include <heddle/memory/adopt.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/bounds.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/fill.hpp>
#include <heddle/memory/interprocess.hpp>
#include <heddle/memory/loan.hpp>
#include <heddle/memory/make_array.hpp>
#include <heddle/memory/pool.hpp>
#include <heddle/memory/range.hpp>
#include <heddle/memory/to_host.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/memory/view_2d.hpp>
#include <heddle/operation/host_access.hpp>
#include <heddle/operation/observer.hpp>
#include <heddle/operation/source_place.hpp>
#include <heddle/operation/stats.hpp>
#include <heddle/print.hpp>
#include <heddle/recording/batch.hpp>
#include <heddle/recording/capture.hpp>
#include <heddle/recording/capture_conditions.hpp>
#include <heddle/stream/current_stream.hpp>
#include <heddle/stream/elapsed.hpp>
#include <heddle/stream/event.hpp>
#include <heddle/stream/failures.hpp>
#include <heddle/stream/scope.hpp>
#include <heddle/stream/signals_nothing.hpp>
#include <heddle/stream/stream.hpp>
#include <heddle/version.hpp>
// Not installed if heddle was built with HEDDLE_OBSERVE=OFF.
#if __has_include(<heddle/observe/watch.hpp>)
#include <heddle/observe/timeline.hpp>
#include <heddle/observe/watch.hpp>
#endif

/// Streams, events, scopes and graphs, for CUDA and for CPUs. Names in heddle::detail are not for
/// users.
namespace heddle HEDDLE_VISIBLE {}
