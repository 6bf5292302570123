// `sotto inspect entropy`: compares the encoded length of synthetic updates with the smallest
// possible length. Part of sotto::server/lab.
#ifndef SOTTO_LAB_INSPECT_ENTROPY_H_
#define SOTTO_LAB_INSPECT_ENTROPY_H_

namespace CLI {
class App;
}

namespace sotto::server {

// Adds the command to `sotto inspect`.
void AddInspectEntropyCommand(CLI::App& inspect);

}  // namespace sotto::server

#endif  // SOTTO_LAB_INSPECT_ENTROPY_H_
