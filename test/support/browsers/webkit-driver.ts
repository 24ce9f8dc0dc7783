// Drives WebKitGTK with Selenium, through WebDriver. WebKitGTK needs an X server: Xvfb has no
// screen.
import { existsSync } from 'node:fs'
import { Builder, Key, type WebDriver } from 'selenium-webdriver'
import { spawnChild, watchExit } from '../../../scripts/servers/child-lifetime.ts'
import { eventually } from '../eventually.ts'
import { chooseFixedPort } from '../servers/fixed-port.ts'
import type { OpenPage, Test } from './browser-page.ts'
import { splitKey } from './split-key.ts'

const driverProgram = '/usr/bin/WebKitWebDriver'
const displayProgram = '/usr/bin/Xvfb'
const stopTimeoutMs = 5_000
const keys: Record<string, string> = {
  ArrowDown: Key.ARROW_DOWN,
  ArrowUp: Key.ARROW_UP,
  Backspace: Key.BACK_SPACE,
  Control: Key.CONTROL,
  End: Key.END,
  Enter: Key.ENTER,
  Escape: Key.ESCAPE,
  Home: Key.HOME,
  PageDown: Key.PAGE_DOWN,
  PageUp: Key.PAGE_UP,
  Shift: Key.SHIFT,
  Tab: Key.TAB,
}

/** Throws an error that says what to install if WebKitGTK is missing. */
export async function startWebKit(t: Test): Promise<OpenPage> {
  for (const program of [driverProgram, displayProgram]) {
    if (!existsSync(program))
      throw new Error(`${program} is missing: install webkit2gtk-driver and xvfb.`)
  }
  const display = await startDisplay(t)
  return async (t) => {
    const driver = await openSession(t, display)
    return {
      goto: (url) => driver.get(url),
      evaluate: (fn, ...args) =>
        driver.executeScript(`return (${fn.toString()}).apply(null, arguments)`, ...args),
      typeText: (text) => driver.actions().sendKeys(text).perform(),
      async press(pressed) {
        const { modifiers, key } = splitKey(pressed)
        const actions = driver.actions()
        for (const modifier of modifiers) actions.keyDown(keys[modifier] ?? modifier)
        actions.sendKeys(keys[key] ?? key)
        for (const modifier of modifiers) actions.keyUp(keys[modifier] ?? modifier)
        await actions.perform()
      },
      click: (x, y) =>
        driver
          .actions()
          .move({ x: Math.round(x), y: Math.round(y) })
          .click()
          .perform(),
      // WebKitGTK's driver has no touch screen.
      tap: (x, y) =>
        driver
          .actions()
          .move({ x: Math.round(x), y: Math.round(y) })
          .click()
          .perform(),
      readErrors: () =>
        driver.executeScript('return window.recordedErrors ?? ["no error-recorder.js"]'),
    }
  }
}

/** Returns the name of the display, for example `:1`. */
async function startDisplay(t: Test): Promise<string> {
  const screen = ['-screen', '0', '1280x1000x24', '-nolisten', 'tcp']
  const { child, output } = start(t, displayProgram, ['-displayfd', '1', ...screen], {})
  const text = await eventually(
    async () => output(),
    (text) => /\d\n/.test(text) || child.exitCode !== null,
  )
  const number = /^(\d+)$/m.exec(text)?.[1]
  if (number === undefined) throw new Error(`Xvfb opened no display: ${text}`)
  return `:${number}`
}

async function openSession(t: Test, display: string): Promise<WebDriver> {
  const port = await chooseFixedPort()
  const { output } = start(t, driverProgram, [`--port=${port}`], {
    DISPLAY: display,
    LIBGL_ALWAYS_SOFTWARE: '1',
  })
  const url = `http://127.0.0.1:${port}`
  const isReady = () =>
    fetch(`${url}/status`).then(
      ({ ok }) => ok,
      () => false,
    )
  if (!(await eventually(isReady, Boolean)))
    throw new Error(`WebKitWebDriver does not answer: ${output()}`)
  const driver = await new Builder()
    .usingServer(url)
    .withCapabilities({ browserName: 'MiniBrowser' })
    .build()
  t.teardown(() => driver.quit())
  return driver
}

function start(t: Test, program: string, args: string[], env: NodeJS.ProcessEnv) {
  const child = spawnChild(program, args, {
    cwd: '/',
    env: { HOME: process.env.TMPDIR ?? '/tmp', ...env },
    output: 'pipe',
    stopSignal: 'SIGTERM',
  })
  const exit = watchExit(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  t.teardown(() => exit.stop('SIGTERM', stopTimeoutMs))
  return { child, output: () => output }
}
