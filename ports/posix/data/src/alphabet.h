// The characters of texts as tokens. Part of sotto::data.
//
// Constant after it was made; any number of threads may read it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats.h"

namespace sotto {

class Alphabet {
 public:
  // The characters are what the option alphabet= says, else by the model's tokens: from 96 on line
  // end and ASCII, from 80 on LEAF's.
  //   usual  without option and model; empty: LEAF's
  // A model may have one token more, for all other characters. Throws std::invalid_argument for a
  // model that takes no tokens, and for characters that are too many or there twice.
  Alphabet(const ReadRequest& request, const std::string& usual);

  uint32_t known() const { return known_; }    // characters with an own token
  uint32_t tokens() const { return tokens_; }  // at most 256
  // -1: the character has no token.
  int TokenOf(char c) const { return ids_[static_cast<uint8_t>(c)]; }

 private:
  uint32_t tokens_;
  uint32_t known_;
  std::vector<int> ids_;  // [256]
};

}  // namespace sotto
