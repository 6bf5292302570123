// A table of things that have names: rows of the program, and rows that somebody else's program
// adds before it runs. Part of sotto::options.
//
// All own methods are added so: estimators, optimisers, codecs (sotto/research/methods.h) and
// partitions (sotto/data/deal.h). Readers iterate the rows and know no difference.
//
// Add() is not safe while another thread reads; a program adds rows first of all.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "sotto/span.h"

namespace sotto::posix {

// The most rows that can be added to a table.
constexpr size_t kMostAddedRows = 32;

// "NAME" of the text "NAME" or "NAME:VALUE".
std::string NameOfText(const std::string& text);

// VALUE of it; empty without a colon.
std::string ValueOfText(const std::string& text);

// The number VALUE of it, or `absent` without a colon. Throws std::invalid_argument for another
// VALUE and for one out of [least, most], naming the option.
double NumberOfText(const std::string& option, const std::string& text, double absent, double least,
                    double most);

// Throws std::invalid_argument unless this is a name that the table can take: 1 to 32 of a-z, 0-9
// and -, beginning with a letter, and none of `names`.
//   what  "optimiser"
void RequireNewName(const char* what, const std::string& name,
                    const std::vector<std::string>& names);

// Throws std::logic_error if the table is full.
void RequireRoomForRow(const char* what, size_t added);

// A row of the type Row has a name: NameOf(row) gives it.
template <class Row>
class OpenTable {
 public:
  template <size_t size>
  OpenTable(const char* what, const Row (&rows)[size], const char* (*name)(const Row&))
      : what_(what), name_(name), own_(size) {
    rows_.reserve(size + kMostAddedRows);  // so that a row never moves
    rows_.insert(rows_.end(), rows, rows + size);
  }

  // Throws as RequireNewName() and RequireRoomForRow() do.
  void Add(const Row& row) {
    std::vector<std::string> names;
    for (const Row& each : rows_) names.emplace_back(name_(each));
    RequireNewName(what_, name_(row), names);
    RequireRoomForRow(what_, rows_.size() - own_);
    rows_.push_back(row);
  }

  // They stay where they are.
  Span<const Row> rows() const { return {rows_.data(), rows_.size()}; }

 private:
  const char* what_;
  const char* (*name_)(const Row&);
  size_t own_;  // rows of the program
  std::vector<Row> rows_;
};

}  // namespace sotto::posix
