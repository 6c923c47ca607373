"""Render a sheet as PNG with Pillow, which includes a font."""

from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from hermes.views.chart import ChartArea, ChartLabels, Sheet
from hermes.views.svg import LIGHT

SCALE = 2  # sharp on a phone
_ANCHORS: Final = {"start": "lm", "middle": "mm", "end": "rm"}


def png(sheet: Sheet) -> bytes:
    image = Image.new("RGB", (sheet.width * SCALE, sheet.height * SCALE), LIGHT["sheet"])
    draw = ImageDraw.Draw(image)
    fonts: dict[int, ImageFont.FreeTypeFont | ImageFont.ImageFont] = {}
    for shape in sheet.shapes:
        match shape:
            case ChartArea(x=x, y=y, width=width, height=height, tone=tone):
                left, top = round(x * SCALE), round(y * SCALE)
                right = max(round((x + width) * SCALE) - 1, left)
                bottom = max(round((y + height) * SCALE) - 1, top)
                draw.rectangle((left, top, right, bottom), fill=LIGHT[tone])
            case ChartLabels(x=x, y=y, text=text, size=size, tone=tone, anchor=anchor, bold=bold):
                if size not in fonts:
                    fonts[size] = ImageFont.load_default(size * SCALE)
                draw.text(
                    (x * SCALE, y * SCALE),
                    text,
                    fill=LIGHT[tone],
                    font=fonts[size],
                    anchor=_ANCHORS[anchor],
                    stroke_width=int(bold),
                    stroke_fill=LIGHT[tone],
                )
    out = BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()
