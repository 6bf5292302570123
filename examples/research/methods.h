// The methods of this example, one file each.
#pragma once

#include <memory>

#include "sotto/research/methods.h"

std::unique_ptr<const sotto::server::Estimator> MakeTrimmed(
    const sotto::server::AggregationOptions& options);
std::unique_ptr<sotto::server::Optimiser> MakeLion(
    const sotto::server::AggregationOptions& options);
std::unique_ptr<const sotto::server::UpdateCoder> MakeSign(const sotto::server::CodedRound& round);
std::unique_ptr<const sotto::server::UpdateCoder> MakeSixteenBits(
    const sotto::server::CodedRound& round);
sotto::Partition DealLadder(const sotto::Deal& deal);
