// Runs a command-line script: parses its options, prints --help, and reports errors with an exit
// status.
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { describeError } from '../../src/monitoring/describe-error.ts'

/** An error in how a script was called. It is printed with a pointer to --help. */
export class UsageError extends Error {}

/**
 * Runs a script: prints `help` on --help, or passes the parsed options and positional arguments to
 * `main`. The status that `main` returns becomes the exit status. An error is printed as one line
 * on stderr, with exit status 1, or 2 for a usage error.
 */
export async function runCommand<Options extends ParseArgsOptionsConfig>(
  help: string,
  options: Options,
  main: (
    values: ReturnType<typeof parse<Options>>['values'],
    positionals: string[],
  ) => Promise<number | undefined>,
): Promise<void> {
  try {
    const { values, positionals } = parse(options)
    if ('help' in values && values.help) {
      console.log(help.trim())
      return
    }
    process.exitCode = (await main(values, positionals)) ?? 0
  } catch (error) {
    const isUsageError = error instanceof UsageError || isParseError(error)
    console.error(`${describeError(error)}${isUsageError ? '\nSee --help.' : ''}`)
    process.exitCode = isUsageError ? 2 : 1
  }
}

/** Returns the choice of this name. Throws a UsageError that lists the names if there is none. */
export function chooseByName<Choice>(
  choices: Record<string, Choice>,
  name: string | undefined,
  what: string,
): Choice {
  const choice = name !== undefined && Object.hasOwn(choices, name) ? choices[name] : undefined
  if (choice !== undefined) return choice
  const problem = name === undefined ? `Name the ${what}` : `Unknown ${what} ${name}`
  throw new UsageError(`${problem}: use one of ${Object.keys(choices).join(', ')}.`)
}

function isParseError(error: unknown): boolean {
  return (
    error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS')
  )
}

function parse<Options extends ParseArgsOptionsConfig>(options: Options) {
  return parseArgs({
    options: { ...options, help: { type: 'boolean', short: 'h' } } as const,
    allowPositionals: true,
    strict: true,
  })
}
