// REDIS_URL: one server, Sentinels or a cluster.
import t from 'tap'
import { parseRedisUrl } from '../../src/redis/redis-address.ts'
import { openRedis } from '../../src/redis/redis-connection.ts'

t.test('the forms of the setting', async (t) => {
  t.same(parseRedisUrl('redis://:p%40ss@cache:6380/2'), {
    kind: 'server',
    tls: false,
    login: { password: 'p@ss' },
    node: { host: 'cache', port: 6380 },
    database: 2,
  })
  t.match(parseRedisUrl('rediss://user:pass@[::1]'), {
    tls: true,
    login: { username: 'user', password: 'pass' },
    node: { host: '::1', port: 6379 },
    database: 0,
  })
  t.same(parseRedisUrl('redis+sentinel://:pass@a,b:26380/my-primary/1?sentinel_password=x%3Dy'), {
    kind: 'sentinel',
    tls: false,
    login: { password: 'pass' },
    sentinels: [
      { host: 'a', port: 26379 },
      { host: 'b', port: 26380 },
    ],
    sentinelLogin: { password: 'x=y' },
    primaryName: 'my-primary',
    database: 1,
  })
  t.same(parseRedisUrl('rediss+cluster://a:7000,b:7001'), {
    kind: 'cluster',
    tls: true,
    login: {},
    nodes: [
      { host: 'a', port: 7000 },
      { host: 'b', port: 7001 },
    ],
  })
})

t.test('errors say what is wrong and repeat no password', async (t) => {
  for (const [url, message] of [
    ['redis://a,b', /several hosts are possible with redis\+sentinel/],
    ['redis://a?sentinels=b', /no parameters/],
    ['redis://a:70000', /with a port from 1 to 65535/],
    ['redis://a/first', /the database must be a number/],
    ['redis+sentinel://a,b', /name of the primary/],
    ['redis+sentinel://a/b?password=1', /sentinel_user and sentinel_password only/],
    ['redis+cluster://a/1', /a cluster has no databases/],
    ['redis+ring://:secret@a', /it must be redis:\/\//],
    ['redis://:sec/ret@a', /\/ as %2F/],
    ['redis://:50%off@a', /has a % that is no code; in a password, write % as %25/],
  ] as const) {
    t.throws(() => parseRedisUrl(url), { message }, url)
    await t.rejects(openRedis(url), { message: /^REDIS_URL: (?!.*sec\/?ret)/ }, url)
  }
})
