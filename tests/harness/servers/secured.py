"""A broker that is reached in every way that Kafka has to find out who one is, each by a listener of its own, and what the
daemon's configuration says to each. Who comes in needs permissions; `kafka.bootstrap` is for the tests, which need none."""

import pathlib
import threading

import certificates
from permissions import GROUP, READ, TOPIC, TRANSACTIONAL_ID, WRITE, Permissions
from servers import Kafka
from token_server import Issuer, TokenServer

USER, PASSWORD = "assayd", "assayd"
PRINCIPALS = {"PLAIN": USER, "SCRAM-SHA-256": USER, "SCRAM-SHA-512": USER, "mTLS": "CN=assayd", "OAUTHBEARER": "assayd-svc"}
LISTENERS = {"PLAIN": "plain", "SCRAM-SHA-256": "scram", "SCRAM-SHA-512": "scram512", "mTLS": "mtls", "OAUTHBEARER": "oauth"}
_JAVA = "org.apache.kafka.common.security."


def _sasl(listener, mechanism, login):
    name = f"listener.name.{listener}."
    return [f"{name}sasl.enabled.mechanisms={mechanism}",
            f"{name}{mechanism.lower()}.sasl.jaas.config={_JAVA}{login} required{{}};"]


def _properties(folder, issuer):
    plain, scram, oauth = (_sasl("plain", "PLAIN", "plain.PlainLoginModule"),
                           _sasl("scram512", "SCRAM-SHA-512", "scram.ScramLoginModule"),
                           _sasl("oauth", "OAUTHBEARER", "oauthbearer.OAuthBearerLoginModule"))
    return [plain[0], plain[1].format(f' user_{USER}="{PASSWORD}"'), scram[0], scram[1].format(""), oauth[0], oauth[1].format(""),
            f"listener.name.oauth.oauthbearer.sasl.server.callback.handler.class={_JAVA}oauthbearer.secured.OAuthBearerValidatorCallbackHandler",
            # connections end with the token that they were made with
            "listener.name.oauth.oauthbearer.connections.max.reauth.ms=3600000",
            f"sasl.oauthbearer.jwks.endpoint.url={issuer.jwks.as_uri()}", "sasl.oauthbearer.expected.audience=kafka",
            f"listener.name.expired.ssl.keystore.location={folder}/expired.pem",
            f"listener.name.elsewhere.ssl.keystore.location={folder}/elsewhere.pem"]


class Secured:
    def __init__(self, folder, properties=()):
        self.folder = certificates.make(folder)
        for name, subject, days in (("expired", "localhost", -1), ("elsewhere", "elsewhere.test", 30)):
            certificates.sign(folder, name, subject, days)
            certificates.together(folder, name)
        self.issuer = Issuer(folder)
        self.kafka = Kafka(users=[USER], tls=folder, properties=[*_properties(folder, self.issuer), *properties], listeners={
            "plain": "SASL_SSL", "scram512": "SASL_SSL", "oauth": "SASL_SSL", "expired": "SSL", "elsewhere": "SSL"})
        self.kafka.set_password(USER, PASSWORD, "SCRAM-SHA-512")
        self.tokens = TokenServer(self.issuer, pathlib.Path(folder) / "server.pem")
        self._permissions, self._asking = Permissions(self.kafka.bootstrap), threading.Lock()

    def file(self, name, text):
        """A secret's file."""
        file = pathlib.Path(self.folder) / name
        fresh = file.with_suffix(".fresh")
        fresh.write_text(text)
        fresh.chmod(0o600)
        fresh.rename(file)
        return str(file)

    def _kafka(self, listener, protocol, *properties, ca="ca.pem", host="localhost", **more):
        return {"bootstrap_servers": f"{host}:{self.kafka.facts[listener]}",
                "properties": ("broker.address.family=v4", f"security.protocol={protocol}",
                               f"ssl.ca.location={self.folder}/{ca}", *properties), **more}

    def password(self, mechanism, password=PASSWORD, listener=None, file="password", **more):
        """The daemon's `kafka` group for a login by a password."""
        return self._kafka(listener or LISTENERS[mechanism], "SASL_SSL", f"sasl.mechanism={mechanism}", f"sasl.username={USER}",
                           secret_properties=(f"sasl.password={self.file(f'{file}-{password}', password)}",), **more)

    def certificate(self, name="client", listener="mtls", **more):
        """For a login by a certificate."""
        return self._kafka(listener, "SSL", f"ssl.certificate.location={self.folder}/{name}.crt",
                           f"ssl.key.location={self.folder}/{name}.key", **more)

    def tls(self, listener, **more):
        """Without a login."""
        return self._kafka(listener, "SSL", **more)

    def token(self, server=None, secret=None, listener="oauth", file="client-secret", **changes):
        """For a login by tokens; `changes` are those of the group `oauth`."""
        server = server or self.tokens
        oauth = {"token_url": server.url, "client_id": server.client_id, "scope": "kafka", "ca_file": f"{self.folder}/ca.pem",
                 "client_secret_file": self.file(file, secret or server.secret), **changes}
        return self._kafka(listener, "SASL_SSL", oauth={name: value for name, value in oauth.items() if value is not None})

    def right(self, mechanism):
        if mechanism == "mTLS":
            return self.certificate()
        return self.token() if mechanism == "OAUTHBEARER" else self.password(mechanism)

    @staticmethod
    def _rights(made):
        return ((GROUP, made.name, READ), (TRANSACTIONAL_ID, f"{made.name}-1", WRITE),
                *((TOPIC, getattr(made, kind), right) for kind in made.KINDS for right in (READ, WRITE)))

    def grant(self, principal, made):
        """All that a daemon with these topics needs."""
        with self._asking:
            self._permissions.grant(principal, *self._rights(made))

    def take(self, principal, *rights):
        with self._asking:
            self._permissions.take(principal, *rights)

    def close(self):
        self._permissions.close()
        self.tokens.close()
        self.kafka.stop()
