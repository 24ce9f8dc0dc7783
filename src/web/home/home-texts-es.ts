// The Spanish texts of the page /. Its script fills in the {placeholders}.

export const homeTextsEs = {
  heading: 'Buscar, medir, presupuestar',
  intro:
    'Tres cosas sobre el catálogo y los presupuestos, funcionando aquí mismo con los datos de ' +
    'este servicio, y el código para tenerlas en tus páginas y programas.',
  needsScript: 'Lo vivo de esta página necesita JavaScript; los ejemplos de código valen sin él.',
  copy: 'Copiar',
  copied: 'Copiado',
  responseSample: 'La respuesta empieza así',
  docs: 'Documentación de la API',
  search: {
    title: 'Buscar productos',
    text:
      'A cada tecla, con erratas, sinónimos y códigos exactos. Ctrl+K (⌘K) la abre desde ' +
      'cualquier sitio.',
    label: 'Producto, palabra o código',
    placeholder: 'Prueba «jumbo strage bag», «taladro» o «85123a»',
    chosen: 'Elegido: {name} · {sku} · {price}',
    noPrice: 'sin precio',
    tag: 'En tu página: una etiqueta, desde cualquier origen de su clave',
    pinnedTag: 'O exactamente esta versión, que se cambia con cada actualización',
    /** The server fills in {origin}. */
    keyOfService:
      'La clave de aquí es para páginas de {origin}. Para las tuyas, crea una con su origen:',
    noKey: 'Crea una clave para el origen de tu página:',
    createKey: 'Una clave para tu origen',
    curl: 'Desde un programa',
  },
  stats: {
    title: 'Cifras',
    text: 'Presupuestos, aceptación e ingresos, exactos al céntimo y al día en dos segundos.',
    open: 'Abrir las cifras',
    needsKey: 'Aquí las cifras piden una clave con el permiso stats:read: el panel la pregunta.',
    unavailable: 'Las cifras no responden ahora.',
    curl: 'Desde un programa',
  },
  quote: {
    title: 'Presupuesto por enlace',
    text:
      'El cliente lo abre sin cuenta: página, PDF o JSON. Lo que se envió no cambia aunque ' +
      'cambie la base de datos.',
    open: 'Abrir el presupuesto',
    unavailable: 'El presupuesto no se puede leer ahora.',
    none: 'Aquí no se muestra ninguno. Un enlace se crea así:',
    curl: 'El mismo, en JSON o en PDF',
  },
}
export type HomeTexts = typeof homeTextsEs
