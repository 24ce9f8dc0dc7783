// What the log says while an API process cannot record that it uses an index. Without that record,
// the indexer of a newer release removes the index.
import t from 'tap'
import { useRecordInterval } from '../../src/search-engine/index-state-follower.ts'
import { eventually } from '../support/eventually.ts'
import { replaceUntilEnd } from '../support/replace-until-end.ts'
import { testService } from '../support/service/test-service.ts'

t.test(
  'logs once that the service cannot record that it uses the index, and that it can again',
  async (t) => {
    replaceUntilEnd(t, useRecordInterval, { ms: 100 })
    const lines: string[] = []
    const { pool, app } = await testService(t, { log: (line) => lines.push(line) })
    const hasLine = (text: string) => lines.some((line) => line.includes(text))
    const search = async () => {
      await app.inject('/api/search?q=x')
      return lines
    }
    await pool.query(`
    create function refuse() returns trigger language plpgsql
    as $$ begin raise exception 'refused for the test'; end $$;
    create trigger refuse before update of used_at on search_indexes
    for each row execute function refuse()`)
    await eventually(search, () => hasLine('still uses its search index (refused for the test)'))
    t.ok(hasLine('still uses its search index (refused for the test)'))
    await pool.query('drop trigger refuse on search_indexes')
    await eventually(search, () => hasLine('Can record again'))
    t.ok(hasLine('Can record again'))
    t.equal(lines.filter((line) => line.includes('Cannot record')).length, 1)
  },
)
