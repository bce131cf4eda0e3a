# syntax=docker/dockerfile:1

# The operator as one static binary in an empty image. Build it from the repository's root:
#   docker build -t REGISTRY/wellfed:0.1.0 .

ARG RUST_VERSION=1.95.0

FROM rust:${RUST_VERSION}-alpine AS build
# musl-dev: the static C library; ca-certificates: the roots copied below.
# hadolint ignore=DL3018
RUN apk add --no-cache musl-dev ca-certificates
WORKDIR /src
# Not the toolchain file: its lint components are not needed here.
COPY Cargo.toml Cargo.lock ./
COPY crds crds
COPY operator operator
COPY tests tests
# The caches outlive a build, so a change of one file does not fetch or compile the rest again.
RUN --mount=type=cache,target=/usr/local/cargo/registry,sharing=locked \
    --mount=type=cache,target=/src/target,sharing=locked \
    cargo build --release --locked --package wellfed --bin wellfed \
    && install -D target/release/wellfed /image/wellfed

FROM scratch
LABEL org.opencontainers.image.title="wellfed" \
      org.opencontainers.image.description="Scales GPU workloads, and asks first whether their GPUs are being fed." \
      org.opencontainers.image.licenses="Apache-2.0"
# For Prometheus over https; the API server's own root comes with the ServiceAccount.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /image/wellfed /wellfed
# By number, so that runAsNonRoot can be checked without a passwd file.
USER 65532:65532
EXPOSE 8080
ENTRYPOINT ["/wellfed"]
CMD ["run"]
