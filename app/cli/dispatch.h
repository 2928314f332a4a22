// From options to the requested command.
#pragma once

#include <string_view>

#include "app/cli/options.h"
#include "app/cli/options_attention.h"

namespace maskctl::app {

/// The options of all commands; only those of the requested one are used.
struct Request {
  GlobalOptions globals;
  InfoOptions info;
  ShowOptions show;
  ApplyOptions apply;
  ConvertOptions convert;
  CombineOptions combine;
  GenOptions gen;
  StatsOptions stats;
  CostOptions cost;
  DiffOptions diff;
  GoldenOptions golden;
  WhyOptions why;
  CheckOptions check;
  TranslateOptions translate;
  AuditOptions audit;
  SeqOptions seq;
  BlockmapOptions blockmap;
  RecogniseCommand recognise;
  OpsOptions ops;
  AttendOptions attend;
  VerifyOptions verify;
  ProbeOptions probe;
  BenchOptions bench;
  BackendsOptions backends;
};

/// Which options were given on the command line, so that variables do not override them.
struct Given {
  bool max_bytes = false;
  bool threads = false;
  bool color = false;
};

/// Reads MASKCTL_MAX_BYTES, MASKCTL_THREADS, MASKCTL_COLOR, EJKERNEL_MASK_DEBUG. Throws Error
/// naming the variable.
void read_environment(GlobalOptions& globals, const Given& given);

/// Checks the operands and runs the command. Returns the exit status: 0, or 1 for a negative
/// answer.
int dispatch(std::string_view command, Request& request);

}  // namespace maskctl::app
