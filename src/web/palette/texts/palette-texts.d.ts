// The type of each file of texts.
import type { PaletteTexts } from '../palette.d.ts'

declare const texts: PaletteTexts
export default texts
