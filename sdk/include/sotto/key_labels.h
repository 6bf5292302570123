// Every label under which a key is derived. Part of sotto/crypto.
//
// A key serves one purpose: HKDF with a label of its own separates it from all others. The labels
// stand here, and nowhere else, so that a new one can be compared with those there are; a test
// shows that they differ. Devices and servers that run today derive by them: never change one.
#ifndef SOTTO_KEY_LABELS_H_
#define SOTTO_KEY_LABELS_H_

namespace sotto::key_label {

// From a device's secret, by the device and the server (keys.h).
constexpr char kTls[] = "sotto psk";          // pre-shared key of TLS
constexpr char kRound[] = "sotto lrq 1";      // dither of one update
constexpr char kOrder[] = "sotto order 1";    // order in which a training visits its samples
constexpr char kEntropy[] = "sotto entropy";  // seeded runs: nonce and private noise of one attempt

// From a run's key, which is entropy or follows from a seed.
constexpr char kSeed[] = "sotto seed";                 // SHA-256 prefix: the run's key from a seed
constexpr char kServer[] = "sotto server";             // the server's key, parent of the next four
constexpr char kJob[] = "sotto job";                   // name of a job
constexpr char kCohort[] = "sotto cohort";             // who is drawn in an attempt
constexpr char kZero[] = "sotto zero";                 // dither of a zero update that tops noise up
constexpr char kZeroPrivate[] = "sotto zero private";  // its private noise
constexpr char kDevice[] = "sotto device";             // secret of a seeded device
constexpr char kPartition[] = "sotto partition";       // which samples a seeded device holds
constexpr char kDropout[] = "sotto dropout";           // who drops out of a simulated attempt
constexpr char kUpdate[] = "sotto update";             // `sotto inspect entropy`: the update
constexpr char kDither[] = "sotto dither";             // `sotto inspect entropy`: its dither

// From a device's secret on an emulated board: INSECURE, for tests (ports/mps2).
constexpr char kInsecure[] = "insecure";

constexpr const char* kAll[] = {kTls,     kRound,  kOrder,  kEntropy,     kSeed,   kServer,
                                kJob,     kCohort, kZero,   kZeroPrivate, kDevice, kPartition,
                                kDropout, kUpdate, kDither, kInsecure};

}  // namespace sotto::key_label

#endif  // SOTTO_KEY_LABELS_H_
