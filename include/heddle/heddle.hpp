// All of heddle that needs no CUDA header.
#pragma once

#include <heddle/array.hpp>
#include <heddle/batch.hpp>
#include <heddle/capture.hpp>
#include <heddle/conditional_nodes.hpp>
#include <heddle/copy.hpp>
#include <heddle/device.hpp>
#include <heddle/error.hpp>
#include <heddle/event.hpp>
#include <heddle/fork_join.hpp>
#include <heddle/graph.hpp>
#include <heddle/graph_nodes.hpp>
#include <heddle/kernel.hpp>
#include <heddle/launch.hpp>
#include <heddle/memory_access.hpp>
#include <heddle/memory_nodes.hpp>
#include <heddle/module.hpp>
#include <heddle/observer.hpp>
#include <heddle/prepared_launch.hpp>
#include <heddle/program.hpp>
#include <heddle/scope.hpp>
#include <heddle/stats.hpp>
#include <heddle/stream.hpp>
#include <heddle/stream_pool.hpp>
#include <heddle/view.hpp>
