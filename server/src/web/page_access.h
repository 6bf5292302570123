// Who may see the operator's page. Part of sotto::server/web.
//
// The page tells who took part, so it is the operator's alone. Four things stand between it and
// others:
//   - it listens on a loopback address only (RequireLoopback());
//   - it answers only under its own names: another site's name that leads to this address, which a
//     hostile name server can arrange, gets nothing (IsOwnHost());
//   - it wants the token of a file that only the operator can read, or the cookie that a browser
//     got for the token. Tokens are compared in constant time;
//   - a browser is told to send the cookie from this page only, and what another page asks for is
//     refused by what the browser says of its origin (IsOwnOrigin()). No reply allows another
//     origin to read it.
//
// Immutable: safe from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sotto/posix/files.h"
#include "web/http_server.h"

namespace sotto::server {

// Throws std::invalid_argument, with what to do instead, for an address that others can reach.
//   host  numeric
void RequireLoopback(const std::string& host);

// The token in this file: 64 hexadecimal digits. A file that does not exist is made with a new one,
// from the system's entropy, for its owner alone. Throws as posix::ReadSecretFile() and
// posix::WriteSecretFile() do, and posix::FileError for a file without a token.
posix::SecretText ReadOrMakeToken(const std::string& path);

class PageAccess {
 public:
  //   token  of ReadOrMakeToken()
  //   host   numeric address of the page
  //   port   the same
  //   name   a further name that the page is reached by, of a proxy; empty: none
  PageAccess(posix::SecretText token, const std::string& host, uint16_t port,
             const std::string& name);

  // By the header Host: the address, 127.0.0.1, localhost or [::1] with the port, or the proxy's
  // name.
  bool IsOwnHost(const HttpRequest& request) const;

  // By the headers Sec-Fetch-Site and Origin, as far as they are there: the page itself asks, or
  // the person at the browser, or a program that is no browser.
  bool IsOwnOrigin(const HttpRequest& request) const;

  // By the cookie, or by "Authorization: Bearer TOKEN".
  bool IsOperator(const HttpRequest& request) const;

  // Whether a login form holds the token: "token=HEX".
  bool HoldsToken(const HttpRequest& login) const;

  // The header Set-Cookie for a browser that has given the token.
  std::string Cookie(const HttpRequest& login) const;

 private:
  bool IsProxied(const HttpRequest& request) const;

  posix::SecretText token_;
  posix::SecretText cookie_;  // its value: follows from the token and does not tell it
  std::string cookie_name_;   // a browser keeps one cookie for all ports of a host
  std::vector<std::string> hosts_;
  std::string name_;
};

}  // namespace sotto::server
