// What it costs that all updates have one length. Part of sotto::server/accounting.
//
// Where a task names a length, every update has exactly that many bytes, and one whose code is
// longer is sent as zeros (sotto/local_round.h). So an observer of the network learns nothing from
// lengths. In exchange a sum may lack an update, in an event that depends on the noise.
//
// Setting. In a round B devices are asked, and the plan has the length L for which an update of
// norm at most C is longer with a probability of at most p, whatever the update is
// (codec/length_bound.h). The *ideal* job is the same without the replacement: each update is
// added as it is, and all that is seen of an upload is that it took place. A device takes part in
// at most K releases. Let (epsilon, delta) be a guarantee of the ideal job for this device, for all
// that is released or seen on the network. Worlds 1 and 2 differ in the device's data alone.
//
//   Lemma 1. Releases without the device cost nothing. Proof: given the releases before it, such a
//     release is the same random function in both worlds, replacements included: other devices'
//     updates do not depend on this device's data. So it is a post-processing that both worlds
//     share, in the real job and in the ideal one.
//   Lemma 2. Let E be the event that an update is too long in one of the at most K releases with
//     the device. In both worlds P(E) <= B K p. Proof: given all that came before, each of the at
//     most B updates of such a release has a norm of at most C and its own noise, drawn anew: it
//     is too long with a probability of at most p, also if the server chose the round adaptively.
//     Add up. B counts, and not 1: another device's zeros would show in the sum, too, and whether
//     they do depends on noise that the ideal job counts on.
//     An attempt that is given up reads no sum, so zeros in it are not seen. But a device whose
//     zeros are too long reports nothing, which is seen, and may be why the attempt was given up.
//     Of the other devices that is the same random function in both worlds. Of the device itself it
//     adds p for each such attempt: with A of them at most, put B K + A in the place of B K.
//   Lemma 3. Couple the real job with the ideal one: the same data, dither and draws. Outside of E
//     all that is released or seen is equal. Proof: a replacement is the only difference, and an
//     update is replaced in E alone.
//   Lemma 4. The real job is (epsilon, delta + (1 + e^epsilon) B K p)-private for the device.
//     Proof: for any set S, by lemmas 3 and 2, P1(real in S) <= P1(ideal in S) + B K p
//     <= e^epsilon P2(ideal in S) + delta + B K p <= e^epsilon (P2(real in S) + B K p) + delta +
//     B K p.
//
// Zeros that are too long themselves (their extra coordinates are not zero) are not sent. This lies
// in E, and changes nothing. The zeros have the key of the update that they replace, of which no
// byte leaves the device: so no key encodes two updates that anybody sees. That their noise is the
// noise that made the update too long does not matter, since lemma 3 asks for nothing within E.
//
// A pure function, safe from any thread.
#pragma once

#include <cmath>

namespace sotto::privacy {

// What a guarantee at this epsilon pays in delta.
//   epsilon  of the ideal job, >= 0
//   updates  B K, the most updates in the releases with one device, and A (lemma 2)
//   p        the largest probability that an update is longer than its length
inline double DeltaOfOneLength(double epsilon, double updates, double p) {
  return (1.0 + std::exp(epsilon)) * updates * p;
}

}  // namespace sotto::privacy
