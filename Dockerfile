# The service with the embedded model: answers without keys of model providers and without a network.
FROM python:3.12-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.12-slim
# A fixed number, so that a volume keeps its owner; no shell, no home to write to.
RUN useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin agenticiqa \
    && install --directory --owner 10001 --group 10001 /data
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/agenticiqa-*.whl)[serve]" && rm -r /wheels
ENV AGENTICIQA_HOME=/data \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONUNBUFFERED=1
VOLUME /data
USER 10001
EXPOSE 8000
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=3)"]
ENTRYPOINT ["agenticiqa"]
# Outside loopback the service wants keys: `… serve keys add NAME --api-keys-file /data/keys.json` makes one.
CMD ["serve", "--host", "0.0.0.0", "--port", "8000", "--api-keys-file", "/data/keys.json"]
