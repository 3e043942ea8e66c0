# A rank dies by SIGKILL under prterun, told to keep the others.
# shapes: 1|2 4
# limit: 300
keep_going()
{
    under_prterun "$1" --runtime-options notifyerrors,recoverable "${@:2}"
}

kills keep_going
