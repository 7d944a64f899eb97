"""`sureflow serve`: trained models behind HTTP."""

from pathlib import Path
from typing import Annotated

import typer

from sureflow.cli.remarks import begin
from sureflow.errors import SureflowError


def serve(
    models: Annotated[
        list[Path], typer.Argument(help="Folders of trained models; each is known by its folder's name.")
    ],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8000,
    token: Annotated[
        str | None, typer.Option(envvar="SUREFLOW_TOKEN", show_default=False, help="Token that clients must give.")
    ] = None,
    batch: Annotated[int, typer.Option(min=1, max=4096, help="Largest number of conditions computed together.")] = 32,
) -> None:
    """Serve predictions over HTTP: explorer pages, JSON, the Open Inference Protocol, netCDF and VTK.

    Only this machine may connect, unless --host allows others, which requires a --token (or SUREFLOW_TOKEN). The routes
    are listed at /docs of the service.
    """
    begin(f"loading {', '.join(map(str, models))}")

    try:
        import fastapi  # noqa: F401
        import orjson  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise SureflowError(
            f"the service needs {error.name}: pip install 'sureflow[serve]' (in a clone, -e '.[serve]')"
        ) from None

    from sureflow.cli.console import say
    from sureflow.runtime import keep_compiled_programs
    from sureflow.serve.hosting import host_models, listening, load_models, require_token
    from sureflow.serve.served_model import Limits

    keep_compiled_programs()
    require_token(token, host)
    loaded = load_models(models)
    bound = listening(host, port)
    address = bound.getsockname()
    say(f"serving {', '.join(loaded)} at http://{host}:{address[1]}/ (Ctrl-C stops)")
    host_models(loaded, bound, token=token, limits=Limits(batch=batch))
