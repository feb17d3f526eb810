"""Certificates for tests, by openssl: an authority, a server that is localhost, a client, and another authority."""

import pathlib
import subprocess


def _openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def _authority(folder, name):
    _openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "7",
             "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")


def _signed(folder, name, subject):
    extension = pathlib.Path(folder, f"{name}.ext")
    extension.write_text(f"subjectAltName=DNS:{subject}\n")
    _openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={subject}",
             "-keyout", f"{name}.key", "-out", f"{name}.csr")
    _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days",
             "7", "-extfile", extension.name, "-out", f"{name}.crt")


def make(folder):
    """Writes ca.pem, other_ca.pem, server.pem (key and certificate), client.crt and client.key; the folder."""
    folder = pathlib.Path(folder)
    _authority(folder, "ca")
    _authority(folder, "other_ca")
    _signed(folder, "server", "localhost")
    _signed(folder, "client", "assayd")
    server = (folder / "server.key").read_text() + (folder / "server.crt").read_text()
    (folder / "server.pem").write_text(server)
    return folder
