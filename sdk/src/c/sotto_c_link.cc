// The functions of sotto_c_link.h. Part of sotto/c, in the library sotto::tls.
#include "sotto_c_link.h"

#include <new>

#include "c/c_port.h"
#include "sotto/secure_link.h"
#include "sotto/tls_tickets.h"
#include "sotto/wire.h"

namespace sotto {
namespace {

// What a sotto_link holds.
struct CLink {
  CLink(const sotto_link_config& c, MutableByteSpan receive) : config(c), link({}, receive) {
    __builtin_memcpy(secret.bytes, c.secret, kKeySize);
    config.secret = nullptr;  // the caller's may be gone
  }

  sotto_link_config config;
  Key secret;
  TlsTicket ticket;  // outlives the session
  SecureLink link;
};

static_assert(sizeof(CLink) <= sizeof(sotto_link), "enlarge SOTTO_LINK_SIZE");
static_assert(alignof(CLink) <= 16);

CLink& In(sotto_link* link) { return *std::launder(reinterpret_cast<CLink*>(link->bytes)); }

const CLink& In(const sotto_link* link) {
  return *std::launder(reinterpret_cast<const CLink*>(link->bytes));
}

bool IsComplete(const sotto_link_config& c) {
  return c.device_id != nullptr && c.secret != nullptr && c.port.now_ms != nullptr &&
         c.port.entropy != nullptr && c.send != nullptr && c.recv != nullptr;
}

}  // namespace
}  // namespace sotto

using sotto::In;
using sotto::ToC;

sotto_status sotto_link_init(sotto_link* link, const sotto_link_config* config, uint8_t* receive,
                             size_t size) {
  if (link == nullptr || config == nullptr || receive == nullptr || !sotto::IsComplete(*config)) {
    return SOTTO_INVALID_ARGUMENT;
  }
  ::new (static_cast<void*>(link->bytes)) sotto::CLink(*config, {receive, size});
  return SOTTO_OK;
}

void sotto_link_destroy(sotto_link* link) { In(link).~CLink(); }

sotto_status sotto_link_begin(sotto_link* link) {
  sotto::CLink& own = In(link);
  sotto_link_config& c = own.config;
  sotto::TlsConfig tls;
  tls.max_fragment = c.max_fragment;
  tls.ticket = c.resumes != 0 ? &own.ticket : nullptr;
  return ToC(own.link.Begin(sotto::PortOf(&c.port), sotto::TextOf(c.device_id), own.secret,
                            {c.send, c.recv, c.context}, tls));
}

sotto_status sotto_link_exchange(sotto_link* link, const uint8_t* frame, size_t frame_size,
                                 const uint8_t** body, size_t* body_size) {
  if (frame == nullptr || frame_size <= sotto::kFrameHeaderSize) return SOTTO_INVALID_ARGUMENT;
  sotto::ByteSpan answer;
  const sotto::Status status = In(link).link.ExchangeFrame({frame, frame_size}, &answer);
  *body = answer.data();
  *body_size = answer.size();
  return ToC(status);
}

void sotto_link_close(sotto_link* link) { In(link).link.Close(); }

int sotto_link_wants_write(const sotto_link* link) { return In(link).link.wants_write() ? 1 : 0; }

int sotto_link_is_authenticated(const sotto_link* link) {
  return In(link).link.is_authenticated() ? 1 : 0;
}
