// Every setting: its type, its default, and the description that .env files and errors show.
import { type Static, Type } from '@sinclair/typebox'
import { defaultConnections, searchConnections } from '../database/postgres-pool.ts'
import { quoteLinkBase } from '../http/endpoint-paths.ts'

const Port = (description: string, fallback: number) =>
  Type.Integer({ minimum: 0, maximum: 65535, default: fallback, description })
const Limit = (description: string, fallback: number) =>
  Type.Integer({ minimum: 1, default: fallback, description })
const Url = (protocols: string, description: string) =>
  Type.String({ pattern: `^(${protocols})://.+`, description })

export const Settings = Type.Object({
  DATABASE_URL: Url(
    'postgres|postgresql',
    'PostgreSQL, for example postgres://user:password@host:5432/database',
  ),
  API_DATABASE_URL: Type.Optional(
    Url('postgres|postgresql', 'The same database with the role of the API. Default: DATABASE_URL'),
  ),
  DATABASE_CONNECTIONS: Type.Integer({
    minimum: 2,
    maximum: 1_000,
    default: defaultConnections,
    description:
      'Maximum PostgreSQL connections of each API process, ' +
      `plus ${searchConnections} for searches without an engine`,
  }),
  INDEXER_DATABASE_URL: Type.Optional(
    Url(
      'postgres|postgresql',
      'The same database with the role of the indexer. Default: DATABASE_URL',
    ),
  ),
  IMPORTER_DATABASE_URL: Type.Optional(
    Url(
      'postgres|postgresql',
      'The same database with the role of scripts/import.ts and share.ts. Default: DATABASE_URL',
    ),
  ),
  REDIS_URL: Type.Optional(
    Url(
      'rediss?(\\+sentinel|\\+cluster)?',
      'Redis, for example redis://host:6379; without it each process caches and limits on its own',
    ),
  ),
  REDIS_PREFIX: Type.String({
    pattern: '^[A-Za-z0-9:_-]*$',
    default: 'tqs:',
    description: 'Prefix of every key in Redis: letters and digits of ASCII, ":", "_" and "-"',
  }),
  MEILI_URL: Url('http|https', 'Meilisearch, for example http://host:7700'),
  MEILI_MASTER_KEY: Type.String({
    minLength: 16,
    description:
      'Master key of Meilisearch; only scripts/migrate.ts needs it, to create the other keys',
  }),
  MEILI_INDEXER_KEY: Type.Optional(
    Type.String({
      minLength: 16,
      description:
        'Key of the indexer, derived from the master key by `make env`. Default: MEILI_MASTER_KEY',
    }),
  ),
  MEILI_SEARCH_KEY: Type.String({
    minLength: 16,
    description: 'Key of the API, which can only search, derived from the master key by `make env`',
  }),
  SEARCH_INDEX: Type.String({
    pattern: '^[A-Za-z0-9_-]{1,100}$',
    default: 'products',
    description: 'Name of the index in Meilisearch',
  }),
  SEARCH_ENGINE: Type.String({
    pattern: '^[a-z0-9_-]{1,50}$',
    default: 'main',
    description: 'Name of this Meilisearch in the database',
  }),
  MORE_SEARCH_ENGINES: Type.Array(Type.String({ pattern: '^[a-z0-9_-]{1,50}=https?://.+' }), {
    default: [],
    description:
      'Further Meilisearch servers with the same master key, comma-separated name=http://host:7700',
  }),
  POPULARITY_MINUTES: Type.Integer({
    minimum: 1,
    maximum: 10_000,
    default: 10,
    description: 'Minutes between two counts of how often each product is quoted',
  }),
  COMPANY_FILE: Type.String({
    minLength: 1,
    default: 'company.json',
    description: 'File with the company: seller, base currency, time zone, bank account',
  }),
  HOST: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Address on which the API listens; localhost is 127.0.0.1',
  }),
  PORT: Port('Port of the API', 3000),
  OPS_HOST: Type.String({
    minLength: 1,
    default: '127.0.0.1',
    description: 'Address on which health checks and metrics are served',
  }),
  OPS_PORT: Port('Port of health checks and metrics', 3001),
  INDEXER_OPS_PORT: Port('Port of health checks and metrics of the indexer', 3002),
  PUBLIC_BASE_URL: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s?#]+$',
      description: 'URL of the service for callers, which may have a path. Default: HOST and PORT',
    }),
  ),
  ANONYMOUS_SCOPES: Type.Array(
    Type.Union([Type.Literal('search:read'), Type.Literal('stats:read')]),
    {
      default: [],
      description: 'Comma-separated scopes of callers without a key: search:read, stats:read',
    },
  ),
  ALLOWED_HOSTS: Type.Array(Type.String({ pattern: '^(\\*|[^\\s/@]+)$' }), {
    default: [],
    description: 'Comma-separated further host names under which the service answers; * for all',
  }),
  TRUST_PROXY: Type.Array(Type.String({ minLength: 1 }), {
    default: [],
    description:
      'Comma-separated addresses or networks of proxies whose X-Forwarded-For is trusted',
  }),
  SEARCH_CACHE_MB: Type.Integer({
    minimum: 0,
    maximum: 4096,
    default: 32,
    description: 'Size of the search cache of each process in megabytes; 0 for no cache',
  }),
  SEARCH_REPORT: Type.Boolean({
    default: true,
    description: 'Set to false to disable the report on searches',
  }),
  SEARCH_LIMIT_PER_SECOND: Limit(
    'Searches per second for each key, or for each client address without a key',
    40,
  ),
  STATS_LIMIT_PER_MINUTE: Limit('Requests for statistics per minute for each key or address', 120),
  // Not for each address: an office or a proxy has one address for many customers.
  LINK_LIMIT_PER_MINUTE: Limit('Requests per minute for each quote link', 600),
  CALLER_GUESS_LIMIT_PER_MINUTE: Limit('Unknown API keys per minute for each address', 20),
  LINK_GUESS_LIMIT_PER_MINUTE: Limit('Unknown quote links per minute for each address', 10),
  SHED_DELAY_MS: Type.Integer({
    minimum: 0,
    maximum: 60_000,
    default: 250,
    description:
      'Event loop delay in milliseconds above which requests get 503; 0 to never reject requests',
  }),
  COUNT_VIEWS: Type.Boolean({
    default: false,
    description:
      'Set to true to count how often each quote link is opened. Addresses are not stored',
  }),
  QUOTE_REPLIES: Type.Boolean({
    default: true,
    description:
      'Set to false to remove the links in quote pages that start an email to the seller',
  }),
  SHARE_MAX_LINES: Type.Integer({
    minimum: 1,
    maximum: 100_000,
    default: 2_000,
    description: 'Maximum number of lines in a shared quote. Run `make migrate` after changing it',
  }),
  SHARE_RETENTION_DAYS: Type.Integer({
    minimum: 1,
    maximum: 36_500,
    default: 400,
    description:
      'Days after which documents of closed links are erased. Run `make migrate` after changing it',
  }),
  WEB_PARTS: Type.Array(
    Type.Union([
      Type.Literal('palette'),
      Type.Literal('dashboard'),
      Type.Literal('home'),
      Type.Literal('none'),
    ]),
    {
      default: ['palette'],
      description:
        'Comma-separated pages: palette (/web/palette.js), dashboard (/dashboard), home (/), none',
    },
  ),
  HOME_PALETTE: Type.Optional(
    Type.String({
      pattern: '^tqp_',
      description: 'Publishable key with which the home page searches; every visitor can read it',
    }),
  ),
  HOME_QUOTE_URL: Type.Optional(
    Type.String({
      pattern: `${quoteLinkBase}/[A-Za-z0-9_-]{43}$`,
      description: 'Quote link that the home page shows; every visitor can open it',
    }),
  ),
  SERVE_OPENAPI: Type.Boolean({
    default: true,
    description: 'Set to false to not serve /openapi.json',
  }),
  SERVE_DOCS: Type.Boolean({
    default: true,
    description: 'Set to false to not serve the page at /docs',
  }),
  START_TIMEOUT_SECONDS: Type.Integer({
    minimum: 0,
    maximum: 3600,
    default: 60,
    description: 'Seconds that the service waits for PostgreSQL when it starts',
  }),
  KEEP_ALIVE_SECONDS: Type.Integer({
    minimum: 1,
    maximum: 3600,
    // Load balancers keep theirs for 60 s, so the balancer closes first.
    default: 65,
    description:
      'Seconds that an idle connection stays open; longer than the load balancer keeps it',
  }),
  STOP_DELAY_SECONDS: Type.Integer({
    minimum: 0,
    maximum: 3600,
    // A proxy tries another process at once. Kubernetes needs seconds to stop sending.
    default: 0,
    description: 'Seconds that a stopping process still accepts requests although it is not ready',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: Type.Optional(
    Url('http|https', 'Collector for OpenTelemetry traces of the API (OTLP/HTTP). Default: none'),
  ),
  OTEL_TRACES_SAMPLER_ARG: Type.Number({
    minimum: 0,
    maximum: 1,
    default: 1,
    description: 'Share of requests that are traced, from 0 to 1. Not used if the caller decides',
  }),
  LOG_LEVEL: Type.Union(
    ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'].map((level) =>
      Type.Literal(level),
    ),
    { default: 'info', description: 'fatal, error, warn, info, debug, trace or silent' },
  ),
})
export type Settings = Static<typeof Settings>
