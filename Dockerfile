# The service in a container, as a user without rights:
#   docker build --tag sureflow .
#   docker run --rm --publish 127.0.0.1:8000:8000 --volume "$PWD/model:/models/model:ro" \
#       --env SUREFLOW_TOKEN="$(openssl rand -hex 24)" sureflow /models/model
FROM python:3.11-slim AS build
WORKDIR /source
COPY requirements requirements
RUN python -m venv /opt/sureflow && /opt/sureflow/bin/pip install --no-cache-dir --require-hashes --requirement requirements/serve.txt
COPY pyproject.toml README.md LICENSE ./
COPY src src
RUN /opt/sureflow/bin/pip install --no-cache-dir --no-deps --no-build-isolation .

FROM python:3.11-slim
RUN useradd --uid 10001 --create-home --home-dir /home/sureflow sureflow
COPY --from=build /opt/sureflow /opt/sureflow
USER 10001
ENV SUREFLOW_CACHE=/home/sureflow/cache
EXPOSE 8000
HEALTHCHECK CMD ["/opt/sureflow/bin/python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/v2/health/ready')"]
ENTRYPOINT ["/opt/sureflow/bin/sureflow", "serve", "--host", "0.0.0.0"]
