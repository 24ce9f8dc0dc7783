// Reads QR codes for tests from pixels, as the camera of a phone does: of a screenshot or of a PDF.
import { readFile } from 'node:fs/promises'
import type { Browser, Page } from 'playwright-core'

const origin = 'http://qr.example.test'
/** The modules that the page loads, by path. */
const modules = {
  '/pdf.js': import.meta.resolve('unpdf/pdfjs'),
  '/decode.js': import.meta.resolve('qr/decode.js'),
  '/index.js': import.meta.resolve('qr'),
}

type DecodeModule = {
  decodeQR(image: ImageData, options: { timeLimit: number }): string | Error
}
type PdfModule = {
  getDocument(source: { data: Uint8Array }): { promise: Promise<Pdf> }
}
type Pdf = { getPage(number: number): Promise<PdfPage> }
type PdfPage = {
  getViewport(options: { scale: number }): { width: number; height: number }
  render(options: object): { promise: Promise<void> }
}

/** Returns the text of the QR code in a PNG image. */
export async function readQrCodeOfImage(browser: Browser, png: Buffer): Promise<string> {
  return withModules(browser, (page) =>
    page.evaluate(async (base64) => {
      const image = new Image()
      image.src = `data:image/png;base64,${base64}`
      await image.decode()
      const canvas = new OffscreenCanvas(image.width, image.height)
      const context = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D
      context.drawImage(image, 0, 0)
      const { decodeQR } = (await import('/decode.js' as string)) as DecodeModule
      const pixels = context.getImageData(0, 0, canvas.width, canvas.height)
      return String(decodeQR(pixels, { timeLimit: 10_000 }))
    }, png.toString('base64')),
  )
}

/** Returns the text of the QR code on a page of a PDF, drawn with 144 dots per inch. */
export async function readQrCodeOfPdf(
  browser: Browser,
  pdf: Buffer,
  pageNumber: number,
): Promise<string> {
  return withModules(browser, (page) =>
    page.evaluate(
      async ({ base64, number }) => {
        const { getDocument } = (await import('/pdf.js' as string)) as PdfModule
        const data = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
        const shown = await (await getDocument({ data }).promise).getPage(number)
        const viewport = shown.getViewport({ scale: 2 })
        const canvas = document.createElement('canvas')
        canvas.width = viewport.width
        canvas.height = viewport.height
        const canvasContext = canvas.getContext('2d') as CanvasRenderingContext2D
        await shown.render({ canvas, canvasContext, viewport }).promise
        const { decodeQR } = (await import('/decode.js' as string)) as DecodeModule
        const pixels = canvasContext.getImageData(0, 0, canvas.width, canvas.height)
        return String(decodeQR(pixels, { timeLimit: 10_000 }))
      },
      { base64: pdf.toString('base64'), number: pageNumber },
    ),
  )
}

/** Calls `use` with a page that can load the modules. */
async function withModules(
  browser: Browser,
  use: (page: Page) => Promise<string>,
): Promise<string> {
  const page = await browser.newPage()
  try {
    await page.route(`${origin}/**`, async (route) => {
      const module = modules[new URL(route.request().url()).pathname as keyof typeof modules]
      await route.fulfill(
        module === undefined
          ? { contentType: 'text/html', body: '<!doctype html>' }
          : { contentType: 'text/javascript', body: await readFile(new URL(module)) },
      )
    })
    await page.goto(origin)
    return await use(page)
  } finally {
    await page.close()
  }
}
