// A start that fails: the version of Node, and what is printed about an error.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { findNodeProblem } from '../../src/config.ts'
import { describeFatalError } from '../../src/monitoring/describe-error.ts'

t.test('requires a Node that sets import.meta.main in TypeScript files', async (t) => {
  for (const version of ['20.19.0', '23.11.1', '24.0.0', '24.1.0', '24.2.0'])
    t.match(findNodeProblem(version), `This is Node ${version}, but Node 24.3 is required`)
  for (const version of ['24.3.0', '24.21.0', '25.0.0', process.versions.node])
    t.equal(findNodeProblem(version), null, version)
  const root = join(import.meta.dirname, '../..')
  for (const file of ['package.json', 'package-lock.json'])
    t.match(readFileSync(join(root, file), 'utf8'), '"node": ">=24.3"', file)
})

t.test('prints the stack and the causes of a defect', async (t) => {
  const secret = `tqs_0123456789ab_${'x'.repeat(43)}`
  const cause = new Error(`the first cause, with ${secret}`, { cause: 'the second cause' })
  const text = describeFatalError(new TypeError('x is undefined', { cause }))
  t.match(text, /^TypeError: x is undefined\n +at .*failed-start\.test/)
  t.match(text, /\nCaused by: Error: the first cause, with tqs_…\n +at .*failed-start\.test/)
  t.match(text, /\nCaused by: the second cause$/)
})

t.test('prints only the message of an error for the operator', async (t) => {
  t.equal(describeFatalError(new Error('PORT is missing')), 'PORT is missing')
  const inUse = Object.assign(new Error('listen EADDRINUSE'), { syscall: 'listen' })
  t.equal(describeFatalError(inUse), 'listen EADDRINUSE')
  t.equal(describeFatalError(new AggregateError([inUse, new Error('b')])), 'listen EADDRINUSE; b')
})
