// REDIS_URL: one server, Sentinels or a cluster.
import t from 'tap'
import { parseRedisUrl } from '../../src/redis/redis-address.ts'
import { openRedis } from '../../src/redis/redis-connection.ts'

const local = { tls: false, login: {}, database: 0 }

for (const [url, expected] of [
  [
    'redis://:p%40ss@cache:6380/2',
    {
      ...local,
      kind: 'server',
      login: { password: 'p@ss' },
      nodes: [{ host: 'cache', port: 6380 }],
      database: 2,
    },
  ],
  [
    'rediss://user:pass@[::1]',
    {
      ...local,
      kind: 'server',
      tls: true,
      login: { username: 'user', password: 'pass' },
      nodes: [{ host: '::1', port: 6379 }],
    },
  ],
  [
    'redis+sentinel://:pass@a,b:26380/my-primary/1?sentinel_password=x%3Dy',
    {
      ...local,
      kind: 'sentinel',
      login: { password: 'pass' },
      nodes: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 26380 },
      ],
      sentinelLogin: { password: 'x=y' },
      primaryName: 'my-primary',
      database: 1,
    },
  ],
  [
    'rediss+cluster://a:7000,b:7001',
    {
      ...local,
      kind: 'cluster',
      tls: true,
      nodes: [
        { host: 'a', port: 7000 },
        { host: 'b', port: 7001 },
      ],
    },
  ],
] as const)
  t.same(parseRedisUrl(url), expected, url)

for (const url of [
  'redis://a,b',
  'redis://a?sentinels=b',
  'redis://a:70000',
  'redis://a/first',
  'redis+sentinel://a,b',
  'redis+cluster://a/1',
  'redis+ring://:secret@a',
  'redis://:sec/ret@a',
  'redis://:50%off@a',
])
  await t.rejects(
    openRedis(url),
    { message: /^REDIS_URL must be redis:(?!.*sec\/?ret).* write % as %25, \/ as %2F/ },
    `${url}: how it is written, without the password`,
  )
