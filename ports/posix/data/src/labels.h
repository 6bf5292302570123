// Labels and groups as files write them, and the numbers that stand for them. Part of sotto::data.
//
// All rules for labels are here, so a label is refused in each format or in none: a reader hands
// over what the file has and adds where it stands. tests/unit/server/bad_values_test.cc runs one
// table of bad labels through all formats.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sotto/data/dataset.h"

namespace sotto {

// Texts in the order of their first appearance.
class Names {
 public:
  // The number of the text.
  uint32_t Id(std::string_view text);
  std::optional<uint32_t> Find(const std::string& text) const;
  const std::vector<std::string>& all() const { return all_; }
  size_t bytes() const { return bytes_; }  // of memory, roughly

 private:
  std::unordered_map<std::string, uint32_t> ids_;
  std::vector<std::string> all_;
  size_t bytes_ = 0;
};

// Whom samples are from.
class Groups {
 public:
  // The number of the group. Throws std::invalid_argument if the text is empty or stands for what
  // is missing: samples of nobody are no group. Blanks around it are no part of it.
  uint32_t Take(std::string_view text);
  const std::vector<std::string>& names() const { return names_.all(); }
  size_t bytes() const { return names_.bytes(); }

 private:
  Names names_;
};

// From the labels of a file to classes. Each device reads its own file, and all of them must mean
// the same by a class, so nothing is guessed from a file that may lack a class:
//   - classes=a,b,c, or else the names that the model gives its classes, are the labels in order;
//     unless a name is a number, 0, 1 and 2 (of two classes also -1 and 1) stand for them, too: if
//     the file, or the file that it goes with, has a 0 (or a -1). Numbers without a 0 may count
//     from 1, so they are refused. classes=N says that labels are 0 to N - 1.
//   - Without names, whole numbers from 0 to K - 1 are classes already, K the model's classes.
//   - Of two classes -1 and 1 are the classes 0 and 1, in a file that has no 0.
//   - For a model other labels are refused with the line that names them. But a file that holds the
//     samples of all devices may have texts, none of them a number: they are sorted by their bytes.
//     Numbers are not: a later file with some of them would have other classes.
//   - Without a model the file alone is described: labels are sorted, numbers by value.
// No label is what is missing, infinite, a fraction, larger than 10^15, or a list of several, such
// as "0,1", "[0 1]" or "cat|dog"; unless classes= has a class of that name. Blanks around a label
// are no part of it.
class Labels {
 public:
  //   option   the value of `classes`, or empty
  //   classes  of the model; 0: there is none
  //   may_be_numbers  false: the classes of `option` are never written as 0, 1 and 2
  Labels(const std::string& option, uint32_t classes, bool may_be_numbers = true);

  // Of a format whose labels are the classes' numbers by definition: nothing is sorted, and they
  // count from 0.
  //   least  classes without option and model, if no label is above them
  //   names  of the classes, without option and model; may be empty
  static Labels Numbered(const std::string& option, uint32_t classes, uint32_t least,
                         std::vector<std::string> names = {});

  // Whether numbers are known to count from 0, although the file may have no 0.
  void CountFrom0(bool does = true) { counts_from_0_ = does; }

  // The file holds the samples of all devices.
  void AllowSorted() { may_sort_ = true; }

  // Any label is good: only the column is of use.
  void Ignore() { are_ignored_ = true; }

  // A provisional number for the label; every sample's, wanted or not. Throws std::invalid_argument
  // with what is wrong, and what is expected, if it is not among the classes.
  uint32_t Take(std::string_view text);
  uint32_t Take(double number);

  // Replaces provisional numbers by classes, and sets classes, class_names and spellings of *info.
  // Throws std::invalid_argument if the labels are not the model's.
  //   where  they stand, for people
  void Finish(const std::string& where, std::vector<uint32_t>* labels, SampleInfo* info) const;

 private:
  uint32_t Declared(const std::string& label);
  uint32_t Remember(const std::string& label, uint32_t named);
  void FinishDeclared(const std::string& where, SampleInfo* info) const;
  void RequireSortable(const std::string& where) const;
  void RequireNumber(const std::string& label) const;
  bool AreClasses(uint32_t* count) const;
  std::vector<uint32_t> Sorted(std::vector<std::string>* names) const;
  void FinishNumbered(std::vector<uint32_t>* labels, SampleInfo* info) const;

  uint32_t classes_;                         // of the model, or 0
  uint32_t declared_ = 0;                    // classes=N
  std::vector<std::string> declared_names_;  // classes=a,b,c
  bool have_numbers_;                        // the names do, or no number stands for a name
  std::set<uint32_t> numbers_;               // that have stood for a name
  bool has_minus_ = false;                   // -1 has
  bool counts_from_0_ = false;
  bool is_numbered_ = false;
  bool may_sort_ = false;
  bool are_ignored_ = false;
  uint32_t least_ = 0;
  std::vector<std::string> usual_names_;
  Names seen_;
  std::vector<std::string>
      spellings_;  // of classes that have names: the labels that stood for them
};

}  // namespace sotto
