//! Certificates and tokens of one plane, made anew for each.

use std::fs;
use std::path::{Path, PathBuf};

use rand::distr::{Alphanumeric, SampleString};
use rcgen::{
    BasicConstraints, Certificate, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::PlaneError;

/// The name that aggregated API servers expect the API server to have.
pub const FRONT_PROXY: &str = "front-proxy-client";

/// The users that a plane knows from its start: name, groups.
pub const USERS: [(&str, &str); 4] = [
    ("admin", "system:masters"),
    ("system:kube-controller-manager", ""),
    ("system:kube-scheduler", ""),
    ("kwok", "system:masters"),
];

/// The files of one plane's credentials.
#[derive(Debug, Clone)]
pub struct Credentials(PathBuf);

impl Credentials {
    /// Makes all files in `folder`.
    pub fn create(folder: PathBuf) -> Result<Self, PlaneError> {
        fs::create_dir_all(&folder).map_err(PlaneError::file(&folder))?;
        let made = Self(folder);
        made.authority("ca", "serving", "kube-apiserver", ExtendedKeyUsagePurpose::ServerAuth)?;
        made.authority("front-proxy-ca", FRONT_PROXY, FRONT_PROXY, ExtendedKeyUsagePurpose::ClientAuth)?;
        let accounts = KeyPair::generate()?;
        made.write("service-accounts.key", &accounts.serialize_pem())?;
        made.write("service-accounts.pub", &accounts.public_key_pem())?;
        made.write("tokens.csv", &tokens())?;
        Ok(made)
    }

    /// One of the files.
    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The token of one of [`USERS`].
    pub fn token(&self, user: &str) -> Result<String, PlaneError> {
        let path = self.file("tokens.csv");
        let text = fs::read_to_string(&path).map_err(PlaneError::file(&path))?;
        let mut rows = text.lines().map(|row| row.split(','));
        let token = rows.find_map(|mut row| row.next().filter(|_| row.next() == Some(user)));
        token.map(str::to_owned).ok_or_else(|| PlaneError::file(path)(std::io::Error::other(format!("no user {user}"))))
    }

    /// A new authority and one certificate signed by it: `<authority>.crt`, `<leaf>.crt`, `<leaf>.key`.
    fn authority(
        &self,
        authority: &str,
        leaf: &str,
        name: &str,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<(), PlaneError> {
        let (certificate, issuer) = new_authority(authority)?;
        let key = KeyPair::generate()?;
        let signed = leaf_params(name, usage)?.signed_by(&key, &issuer)?;
        self.write(&format!("{authority}.crt"), &certificate.pem())?;
        self.write(&format!("{leaf}.crt"), &signed.pem())?;
        self.write(&format!("{leaf}.key"), &key.serialize_pem())
    }

    fn write(&self, name: &str, text: &str) -> Result<(), PlaneError> {
        write_private(&self.file(name), text)
    }
}

/// Writes a file that only this user may read.
pub fn write_private(path: &Path, text: &str) -> Result<(), PlaneError> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    fs::OpenOptions::new()
        .create(true)
        .truncate(true)
        .write(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(PlaneError::file(path))
}

fn new_authority(name: &str) -> Result<(Certificate, Issuer<'static, KeyPair>), rcgen::Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign];
    let key = KeyPair::generate()?;
    Ok((params.self_signed(&key)?, Issuer::new(params, key)))
}

fn leaf_params(name: &str, usage: ExtendedKeyUsagePurpose) -> Result<CertificateParams, rcgen::Error> {
    let hosts = ["127.0.0.1", "localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    let mut params = CertificateParams::new(hosts.map(str::to_owned))?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.use_authority_key_identifier_extension = true;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![usage];
    Ok(params)
}

/// `token,user,uid,groups` a line, as `--token-auth-file` wants it.
fn tokens() -> String {
    let row = |(user, groups): (&str, &str)| {
        let token = Alphanumeric.sample_string(&mut rand::rng(), 32);
        if groups.is_empty() { format!("{token},{user},{user}\n") } else { format!("{token},{user},{user},{groups}\n") }
    };
    USERS.map(row).concat()
}
