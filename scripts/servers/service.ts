// The API and the indexer as processes, as they run in production: each gets only the database
// role, the keys and the settings that it needs. For the demo, the benchmarks and the tests.
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { deriveIndexerKey, deriveSearchKey } from '../../src/indexing/keys.ts'
import { spawnChild } from './child-lifetime.ts'

export type Engine = { name: string; url: string }

export type Installation = {
  databaseUrls: Record<'api' | 'indexer', string>
  redisUrl: string | undefined
  /** Searches ask the first one, and another one while it fails. */
  engines: [Engine, ...Engine[]]
  masterKey: string
  companyFile: string
}

export type Env = NodeJS.Dict<string>

export function apiSettings(installation: Installation, ports: { api: number; ops: number }) {
  const { databaseUrls, redisUrl, masterKey, companyFile } = installation
  const [engine, ...more] = installation.engines
  return {
    API_DATABASE_URL: databaseUrls.api,
    REDIS_URL: redisUrl,
    MEILI_URL: engine.url,
    MEILI_SEARCH_KEY: deriveSearchKey(masterKey),
    SEARCH_ENGINE: engine.name,
    MORE_SEARCH_ENGINES: more.map(({ name, url }) => `${name}=${url}`).join(),
    COMPANY_FILE: companyFile,
    PORT: String(ports.api),
    OPS_PORT: String(ports.ops),
  }
}

export const indexerSettings = ({ databaseUrls, masterKey }: Installation, engine: Engine) => ({
  INDEXER_DATABASE_URL: databaseUrls.indexer,
  MEILI_URL: engine.url,
  MEILI_INDEXER_KEY: deriveIndexerKey(masterKey),
  SEARCH_ENGINE: engine.name,
  // Any free port: several may run.
  INDEXER_OPS_PORT: '0',
})

type Options = Pick<Parameters<typeof spawnChild>[2], 'output' | 'input' | 'stopSignal'>

/** Runs a program of this project with exactly this environment. */
export const spawnProgram = (words: string[], env: Env, options: Options): ChildProcess =>
  spawnChild(process.execPath, words, {
    cwd: join(import.meta.dirname, '../..'),
    env,
    ...options,
  })
