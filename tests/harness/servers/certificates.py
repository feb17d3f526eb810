"""Certificates for tests, by openssl: an authority, a server that is localhost, a client, and another authority."""

import pathlib
import subprocess


def _openssl(folder, *arguments):
    subprocess.run(["openssl", *arguments], cwd=folder, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)


def _authority(folder, name):
    _openssl(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30",
             "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.pem")


def sign(folder, name, subject, days=30, authority="ca"):
    """Writes NAME.key and NAME.crt for the subject; negative days: it has expired."""
    extension = pathlib.Path(folder, f"{name}.ext")
    extension.write_text(f"subjectAltName=DNS:{subject}\n")
    _openssl(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={subject}",
             "-keyout", f"{name}.key", "-out", f"{name}.csr")
    _openssl(folder, "x509", "-req", "-in", f"{name}.csr", "-CA", f"{authority}.pem", "-CAkey", f"{authority}.key",
             "-CAcreateserial", "-days", str(days), "-extfile", extension.name, "-out", f"{name}.crt")


def together(folder, name):
    """Key and certificate in one file, NAME.pem."""
    file = pathlib.Path(folder, f"{name}.pem")
    file.write_text(pathlib.Path(folder, f"{name}.key").read_text() + pathlib.Path(folder, f"{name}.crt").read_text())
    return file


def lock(folder, name, password):
    """Writes locked.key, which is NAME.key under that password."""
    _openssl(folder, "pkcs8", "-topk8", "-in", f"{name}.key", "-out", "locked.key", "-passout", f"pass:{password}")


def make(folder):
    """Writes ca.pem, other_ca.pem, server.pem (key and certificate), client.crt and client.key; the folder."""
    folder = pathlib.Path(folder)
    _authority(folder, "ca")
    _authority(folder, "other_ca")
    sign(folder, "server", "localhost")
    sign(folder, "client", "assayd")
    together(folder, "server")
    return folder
