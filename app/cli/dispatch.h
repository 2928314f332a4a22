// From options to the command that was asked for.
#pragma once

#include <string_view>

#include "app/cli/options.h"
#include "app/cli/options_attention.h"

namespace maskctl::app {

/// All options of a command line; those of one command are used.
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

/// Options that stand on the command line, which variables do not change.
struct Given {
  bool max_bytes = false;
  bool threads = false;
  bool color = false;
};

/// MASKCTL_MAX_BYTES, MASKCTL_THREADS, MASKCTL_COLOR, EJKERNEL_MASK_DEBUG. Throws Error naming the
/// variable.
void read_environment(GlobalOptions& globals, const Given& given);

/// Checks the operands and runs the command. Returns the exit status: 0, or 1 for the answer no.
int dispatch(std::string_view command, Request& request);

}  // namespace maskctl::app
