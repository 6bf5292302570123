// Every label under which a key is derived. Part of sotto/crypto.
//
// A key serves one purpose: HKDF with a separate label separates it from all other keys. All
// labels are in this file, so a new label is easily compared with the others; a test shows that
// they differ. Running devices and servers derive keys with these labels: never change one.
// Constants only.
#pragma once

namespace sotto::key_label {

// From a device's secret, by the device and the server (keys.h).
constexpr char kTls[] = "sotto psk";             // pre-shared key of TLS
constexpr char kHello[] = "sotto hello 1";       // from that key: handle in a ClientHello's token
constexpr char kHelloProof[] = "sotto hello 2";  // and the token's proof
constexpr char kTicket[] = "sotto ticket 1";     // from that key: whose session a ticket opens
constexpr char kRound[] = "sotto lrq 1";         // dither of one update
constexpr char kRoundSalted[] = "sotto lrq 2";   // the same with the server's salt
constexpr char kOrder[] = "sotto order 1";       // order of a training's samples; random steps
constexpr char kEntropy[] = "sotto entropy";  // seeded runs: nonce and private noise of one attempt

// From a run's key, which is fresh entropy or is computed from a seed.
constexpr char kSeed[] = "sotto seed";                 // SHA-256 prefix: the run's key from a seed
constexpr char kServer[] = "sotto server";             // the server's key, parent of the next five
constexpr char kJob[] = "sotto job";                   // name of a job
constexpr char kWeights[] = "sotto weights 1";         // initial weights of a net
constexpr char kCohort[] = "sotto cohort";             // devices that are drawn in an attempt
constexpr char kZero[] = "sotto zero";                 // dither of a zero update that adds noise
constexpr char kZeroPrivate[] = "sotto zero private";  // its private noise
constexpr char kDevice[] = "sotto device";             // secret of a seeded device
constexpr char kPartition[] = "sotto partition";       // samples that a seeded device holds
constexpr char kSalt[] = "sotto salt";                 // salts for the keys of updates
constexpr char kDropout[] = "sotto dropout";           // devices that drop out of an attempt
constexpr char kFineTune[] = "sotto fine-tune";        // samples of a simulated fine-tuning
constexpr char kUpdate[] = "sotto update";             // `sotto-lab inspect entropy`: the update
constexpr char kDither[] = "sotto dither";             // `sotto-lab inspect entropy`: its dither
constexpr char kAudit[] = "sotto audit";  // `sotto-lab audit`: samples and devices drawn

// From the secret of a node without a server (peer_trainer.h), and from a directory's key.
constexpr char kPeerOrder[] = "sotto peer order 1";      // order of a node's samples
constexpr char kPeerSamples[] = "sotto peer samples";    // whose samples a ledger is about
constexpr char kPeerCoin[] = "sotto peer coin 1";        // decisions of the policy coin
constexpr char kPeerNoise[] = "sotto peer noise";        // seeded runs: noise of one publication
constexpr char kPeerWeights[] = "sotto peer weights 1";  // initial model, from the job's id
constexpr char kPeerTurns[] = "sotto peer turns";        // simulated random order of nodes
constexpr char kPeerPolicy[] = "sotto peer policy";      // exploration of the policy deep-q
constexpr char kPair[] = "sotto pair 1";                 // TLS secret between two nodes

// From the key in a server's store.
constexpr char kReceipt[] = "sotto receipt";  // what devices return to show a lost log

// From a device's secret on an emulated board: INSECURE, for tests (ports/emulated).
constexpr char kInsecure[] = "insecure";

constexpr const char* kAll[] = {
    kTls,         kHello,       kRound,     kOrder,       kEntropy,     kSeed,       kServer,
    kJob,         kWeights,     kCohort,    kZero,        kZeroPrivate, kDevice,     kPartition,
    kDropout,     kUpdate,      kDither,    kAudit,       kReceipt,     kInsecure,   kPeerOrder,
    kPeerSamples, kPeerCoin,    kPeerNoise, kPeerWeights, kPeerTurns,   kPeerPolicy, kPair,
    kHelloProof,  kRoundSalted, kSalt,      kTicket,      kFineTune};

}  // namespace sotto::key_label
