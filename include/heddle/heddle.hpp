// Includes the public headers. Exceptions: <heddle/cuda.hpp> and heddle/with/, most of which need
// headers of CUDA; <heddle/by_data.hpp>, <heddle/check.hpp>, <heddle/timeline_files.hpp>; and the
// headers for formatting.
#pragma once

#include <heddle/code/module.hpp>
#include <heddle/code/program.hpp>
#include <heddle/collective/communicator.hpp>
#include <heddle/collective/device_group.hpp>
#include <heddle/concurrency/fork_join.hpp>
#include <heddle/concurrency/pipeline.hpp>
#include <heddle/concurrency/stream_pool.hpp>
#include <heddle/device/device.hpp>
#include <heddle/device/memory_access.hpp>
#include <heddle/error.hpp>
#include <heddle/graph/conditional_nodes.hpp>
#include <heddle/graph/graph.hpp>
#include <heddle/graph/memory_nodes.hpp>
#include <heddle/graph/module_nodes.hpp>
#include <heddle/graph/nodes.hpp>
#include <heddle/launch/dependent_launch.hpp>
#include <heddle/launch/kernel.hpp>
#include <heddle/launch/launch.hpp>
#include <heddle/launch/launch_options.hpp>
#include <heddle/launch/launch_shape.hpp>
#include <heddle/launch/preload.hpp>
#include <heddle/launch/prepared_launch.hpp>
#include <heddle/launch/quiet.hpp>
#include <heddle/launch/touching.hpp>
#include <heddle/location.hpp>
#include <heddle/memory/adopt.hpp>
#include <heddle/memory/array.hpp>
#include <heddle/memory/bounds.hpp>
#include <heddle/memory/copy.hpp>
#include <heddle/memory/interprocess.hpp>
#include <heddle/memory/loan.hpp>
#include <heddle/memory/range.hpp>
#include <heddle/memory/statistics.hpp>
#include <heddle/memory/view.hpp>
#include <heddle/observe/host_access.hpp>
#include <heddle/observe/observer.hpp>
#include <heddle/observe/stats.hpp>
#include <heddle/observe/watch.hpp>
#include <heddle/print.hpp>
#include <heddle/recording/batch.hpp>
#include <heddle/recording/capture.hpp>
#include <heddle/stream/event.hpp>
#include <heddle/stream/failures.hpp>
#include <heddle/stream/scope.hpp>
#include <heddle/stream/stream.hpp>
#include <heddle/timeline.hpp>
#include <heddle/version.hpp>

/// Streams, events, scopes and graphs, for CUDA and for CPUs. Names in heddle::detail are not for
/// users.
namespace heddle {}
