FROM python:3.13-slim
RUN useradd --uid 10001 sandbox && install --directory --owner sandbox --mode 0700 /data
COPY pyproject.toml hatch_build.py LICENSE README.md /source/
COPY gateway_async /source/gateway_async
RUN pip install --no-cache-dir "/source[cli]" && rm -r /source
USER sandbox
VOLUME /data
EXPOSE 8080
HEALTHCHECK CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8080/_sandbox', timeout=5)"]
CMD ["gateway-async", "sandbox", "--host", "0.0.0.0", "--port", "8080", "--data", "/data/sandbox.db", "--allow-host", "sandbox"]
