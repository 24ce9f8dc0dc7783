// The style sheet of the palette.

// The selectors are flat and name parts, so the same rules serve the dialog in the shadow tree and
// the popup in the tree of the page. The progress bar appears after 0.35 s, so fast responses show
// none. The results have a fixed height, so the dialog does not change its size during typing.
const css = `
  @keyframes product-palette-appear { from { opacity: 0 } to { opacity: 1 } }
  @keyframes product-palette-slide-in { from { transform: translateY(-0.4em) } }
  @keyframes product-palette-pass {
    from { background-position: -60% 0 }
    to { background-position: 160% 0 }
  }
  :host([theme=light]) {
    color-scheme: light;
  }
  :host([theme=dark]) {
    color-scheme: dark;
  }
  :host([theme=auto]) {
    color-scheme: light dark;
  }
  :host {
    display: contents;
    --_ink: var(--product-palette-ink, light-dark(#16242a, #e7eef0));
    --_quiet: var(--product-palette-quiet, light-dark(#55656d, #a3b2b8));
    --_surface: var(--product-palette-surface, light-dark(#fff, #161e21));
    --_rule: var(--product-palette-rule, light-dark(#e1e8ea, #2c383d));
    --_accent: var(--product-palette-accent, light-dark(#0b5563, #7fc9d6));
    --_active: var(
      --product-palette-active,
      color-mix(in oklab, var(--_accent) 9%, var(--_surface))
    );
    --_mark: var(--product-palette-mark, color-mix(in oklab, var(--_accent) 20%, transparent));
    --_warn: var(--product-palette-warn, light-dark(#7a4a00, #efc77e));
    --_radius: var(--product-palette-radius, 0.75em);

    [part~="dialog"] {
      inset: 0;
      border: 0;
      inline-size: 100%;
      block-size: 100%;
      max-inline-size: none;
      max-block-size: none;
      overflow: hidden;
      background: none;
    }
    [part~="dialog"]::backdrop {
      background: var(
        --product-palette-backdrop,
        light-dark(rgb(20 34 40 / 0.24), rgb(0 0 0 / 0.55))
      );
    }
    [part~="panel"] {
      display: flex;
      flex-direction: column;
      box-sizing: border-box;
      inline-size: min(var(--product-palette-width, 42em), 100% - 1em);
      max-block-size: calc(100% - 1em);
      margin: clamp(0.5em, var(--product-palette-top, 14vh), max(0.5em, 100vh - 34em)) auto 0;
      border: 1px solid var(--_rule);
      border-radius: var(--_radius);
      overflow: hidden;
      background: var(--_surface);
      color: var(--_ink);
      font-family: var(
        --product-palette-font,
        system-ui, sans-serif
      );
      font-weight: 400;
      line-height: 1.35;
      letter-spacing: normal;
      text-align: start;
      box-shadow: var(
        --product-palette-shadow,
        0 0.6em 3em rgb(0 0 0 / 0.3)
      );
    }
    [part~="popup"] {
      inset: auto;
    }
    [part~="dialog"], [part~="popup"] {
      margin: 0;
      padding: 0;
      font-size: var(--product-palette-font-size, 0.9375rem);
    }
    [part~="header"], [part~="option"], [part~="end"] {
      display: flex;
      align-items: center;
      gap: 0.7em;
    }
    [part~="header"], [part~="end"] {
      flex: none;
    }
    [part~="header"] {
      padding-inline: 1em 0.7em;
      border-block-end: 1px solid var(--_rule);
    }
    [part~="header"]:has([part~="input"]:focus-visible) {
      border-color: var(--_accent);
    }
    [part~="icon"] {
      flex: none;
      inline-size: 0.7em;
      block-size: 0.7em;
      border: 0.1em solid var(--_quiet);
      border-radius: 50%;
    }
    [part~="icon"]::after {
      content: "";
      display: block;
      inline-size: 0.45em;
      border-block-end: 0.1em solid var(--_quiet);
      transform: translate(0.5em, 0.67em) rotate(45deg);
    }
    [part~="input"] {
      flex: 1;
      min-inline-size: 0;
      margin: 0;
      border: 0;
      padding: 0.85em 0;
      outline: 0;
      background: none;
      color: inherit;
      caret-color: var(--_accent);
      font: inherit;
      font-size: 1.15em;
    }
    [part~="input"]::placeholder {
      color: var(--_quiet);
      opacity: 1;
    }
    [part~="close"], [part~="key"] {
      border: 1px solid var(--_rule);
      border-radius: 0.4em;
      background: none;
      color: var(--_quiet);
      font: inherit;
      font-size: 0.75em;
      line-height: 1.4;
    }
    [part~="close"] {
      flex: none;
      min-inline-size: 2.4em;
      padding: 0.4em 0.6em;
      cursor: pointer;
    }
    [part~="close"]:hover {
      color: var(--_ink);
      background: var(--_active);
    }
    [part~="progress"] {
      flex: none;
      block-size: 2px;
      margin-block-end: -2px;
      z-index: 1;
      background: var(--_accent);
      opacity: 0;
    }
    [data-busy] [part~="progress"] {
      animation: product-palette-appear 0.2s 0.35s forwards;
    }
    [part~="results"] {
      display: flex;
      flex-direction: column;
      flex: 0 1 auto;
      min-block-size: 3.5em;
      block-size: var(--product-palette-height, 27.2em);
    }
    [part~="popup"] [part~="results"] {
      block-size: auto;
      max-block-size: var(--product-palette-height, 27.2em);
    }
    [part~="list"] {
      overflow-y: auto;
      overscroll-behavior: contain;
      padding: 0.4em;
      scroll-padding-block: 0.4em;
    }
    [part~="list"][aria-disabled] {
      opacity: 0.5;
    }
    [hidden] {
      display: none !important;
    }
    [part~="heading"] {
      padding: 0.5em 0.9em 0.3em;
      color: var(--_quiet);
      font-size: 0.78em;
      font-weight: 600;
    }
    [part~="option"] {
      position: relative;
      padding: 0.42em 0.7em;
      border-radius: calc(var(--_radius) - 0.3em);
      cursor: pointer;
      user-select: none;
    }
    [part~="active"] {
      background: var(--_active);
    }
    [part~="active"]::before {
      content: "";
      position: absolute;
      inset-block: 0.7em;
      inset-inline-start: 0;
      inline-size: 3px;
      border-radius: 2px;
      background: var(--_accent);
    }
    [part~="text"] {
      flex: 1;
      min-inline-size: 0;
      overflow-wrap: anywhere;
    }
    [part~="name"] {
      display: block;
      font-weight: 500;
    }
    [part~="copy"] {
      visibility: hidden;
      margin: -0.4em 0;
      padding: 0.4em;
      color: var(--_accent);
    }
    [part~="copy"]::after {
      content: "";
      display: inline-block;
      inline-size: 0.5em;
      block-size: 0.6em;
      border: 1px solid;
      box-shadow: 0.2em -0.2em 0 -1px var(--_surface), 0.2em -0.2em;
    }
    [part~="add"], [part~="star"] {
      inline-size: 2.4em;
      line-height: 2.4;
      border-radius: 0.4em;
      background: var(--_mark);
      text-align: center;
    }
    [part~="star"] {
      visibility: hidden;
      margin-inline: -0.7em;
      background: none;
      color: var(--_accent);
    }
    [part~="active"] :is([part~="star"], [part~="copy"]), [data-favourite] [part~="star"] {
      visibility: visible;
    }
    [part~="detail"] {
      display: -webkit-box;
      -webkit-box-orient: vertical;
      -webkit-line-clamp: 1;
      overflow: hidden;
      color: var(--_quiet);
      font-size: 0.82em;
    }
    [part~="sku"], [part~="price"] {
      font-variant-numeric: tabular-nums;
      unicode-bidi: isolate;
    }
    [part~="price"] {
      font-size: 0.92em;
    }
    [part~="chosen"] [part~="price"]::after {
      content: " ✓" / "";
      color: var(--_accent);
    }
    [part~="mark"] {
      border-radius: 0.2em;
      background: var(--_mark);
      color: var(--_ink);
    }
    [part~="message"] {
      display: flex;
      flex-direction: column;
      justify-content: center;
      gap: 0.3em;
      flex: 1;
      padding: 1.2em;
      color: var(--_quiet);
      text-align: center;
      overflow-wrap: anywhere;
      overflow-y: auto;
    }
    [part~="message"] strong {
      color: var(--_ink);
      font-weight: 600;
    }
    [part~="footer"] {
      display: flex;
      align-items: center;
      justify-content: space-between;
      gap: 1em;
      flex: none;
      min-block-size: 1.7em;
      padding: 0.3em 1em;
      border-block-start: 1px solid var(--_rule);
      color: var(--_quiet);
      font-size: 0.8em;
    }
    [part~="trouble"], [part~="degraded"], [part~="corrected"] {
      color: var(--_warn);
    }
    [part~="hints"] {
      display: flex;
      flex: none;
      gap: 1.2em;
    }
    [part~="trouble"] ~ [part~="hints"] {
      display: none;
    }
    [part~="hint"] {
      display: flex;
      align-items: center;
      gap: 0.3em;
    }
    [part~="key"] {
      min-inline-size: 1.1em;
      padding: 0 0.3em;
      font-size: 0.9em;
      text-align: center;
    }
    [part~="live"] {
      position: absolute;
      clip-path: inset(50%);
    }
    @media (hover: none) {
      [part~="close"] {
        border: 0;
        padding: 0.5em;
        font-size: 1em;
      }
      [part~="close-key"], [part~="hints"] {
        display: none;
      }
      [part~="star"], [part~="copy"] {
        visibility: visible;
      }
    }
    @media (hover) {
      [part~="add"], [part~="close-sign"] {
        display: none;
      }
    }
    @media (max-width: 36em) {
      [part~="panel"]:not([part~="popup"]) {
        margin-block-start: 0.5em;
      }
      [part~="hints"] {
        display: none;
      }
      [part~="option"] {
        flex-wrap: wrap;
        justify-content: flex-end;
      }
      [part~="text"] {
        flex-basis: auto;
      }
      [part~="detail"] {
        inline-size: 0;
        min-inline-size: 100%;
        -webkit-line-clamp: 2;
      }
    }
    @media (max-height: 24em) {
      [part~="footer"] {
        min-block-size: 0;
        padding-block: 0.1em;
      }
    }
    @media (prefers-reduced-motion: no-preference) {
      [part~="progress"] {
        background:
          linear-gradient(90deg, transparent, var(--_accent), transparent) 0 0 / 40% 100% no-repeat;
      }
      [data-busy] [part~="progress"] {
        animation:
          product-palette-appear 0.2s 0.35s forwards,
          product-palette-pass 1.1s 0.35s linear infinite;
      }
      [part~="dialog"][open] [part~="panel"] {
        animation:
          product-palette-appear 0.12s ease-out,
          product-palette-slide-in 0.12s ease-out;
      }
    }
    @media (forced-colors: active) {
      [part~="progress"], [part~="active"] {
        forced-color-adjust: none;
        background: Highlight;
        color: HighlightText;
      }
      [part~="active"] * {
        color: inherit;
      }
      [part~="mark"] {
        forced-color-adjust: none;
        background: none;
        color: CanvasText;
        text-decoration: underline 2px;
      }
      [part~="active"] [part~="mark"], [part~="chosen"] [part~="price"]::after {
        color: HighlightText;
      }
      [part~="list"][aria-disabled] {
        opacity: 1;
      }
      [part~="list"][aria-disabled] * {
        color: GrayText;
      }
    }
  }
`

/** @type {Map<string, CSSStyleSheet>} */
const sheets = new Map()

/**
 * Adds the style sheet to a shadow tree, under `:host`, or to the tree of a page, under the tag
 * name `host`. A constructed sheet is not subject to the `style-src` of the page's policy.
 * @param {Document | ShadowRoot} root
 * @param {string} [host]
 */
export function adoptStyleSheet(root, host = ':host') {
  let sheet = sheets.get(host)
  if (!sheet) {
    sheet = new CSSStyleSheet()
    sheet.replaceSync(host === ':host' ? css : css.replaceAll(/:host(?:\((.+?)\))?/g, `${host}$1`))
    sheets.set(host, sheet)
  }
  if (!root.adoptedStyleSheets.includes(sheet))
    root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet]
}
