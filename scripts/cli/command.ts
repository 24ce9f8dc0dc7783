// What every command-line script shares: --help, options, one clear error, an exit status.
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { causeOf } from '../../src/monitoring/error-cause.ts'

/** An error in how a script was called; shown with a pointer to --help. */
export class UsageError extends Error {}

/**
 * Runs a script: prints `help` on --help, hands the parsed options and words to `main`, and turns what it throws into one line on stderr and
 * exit status 1 (2 for a usage error). The status that `main` returns becomes the exit status.
 */
export async function runCommand<Options extends ParseArgsOptionsConfig>(
  help: string,
  options: Options,
  main: (
    values: ReturnType<typeof parse<Options>>['values'],
    words: string[],
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
    const badCall =
      error instanceof UsageError ||
      (error instanceof TypeError &&
        'code' in error &&
        String(error.code).startsWith('ERR_PARSE_ARGS'))
    console.error(`${causeOf(error)}${badCall ? '\nSee --help.' : ''}`)
    process.exitCode = badCall ? 2 : 1
  }
}

function parse<Options extends ParseArgsOptionsConfig>(options: Options) {
  return parseArgs({
    options: { ...options, help: { type: 'boolean', short: 'h' } } as const,
    allowPositionals: true,
    strict: true,
  })
}
